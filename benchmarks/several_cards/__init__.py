"""Several cards: collectives and data parallel training, beside PyTorch in one run.

Started once for each card, as torchrun starts programs:
``torchrun --nproc-per-node 2 -m benchmarks.several_cards --add FILE.json``, or with its
variables RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Rank 0 prints and
writes. ``--context opencl0:0 --small`` tries the program without cards, by PyTorch's
Gloo.
"""
