def dim(level):
    return max(0, level - 1)
