"""What imports Dask: arrays that it creates on devices, and workers' devices."""
