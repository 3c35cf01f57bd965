def shines(level):
    return level > 0
