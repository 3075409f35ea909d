"""Operations: one package for each family."""
