FAINT = 0.1


def shines(level):
    return level > FAINT


def dimmed(level):
    return level / 2
