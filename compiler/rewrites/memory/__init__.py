"""Operations in place, and guarded updates."""
