import sys

import lamp

level = float(sys.argv[1])
print(lamp.shines(level), lamp.dimmed(level))
