"""Tries to get out of the walls, and says of each way whether it led out.

The first argument is what a test has put up outside: JSON with the paths, ports and numbers of things that nobody inside may reach.
The others are the ways to try. Each is harmless where it leads out: nothing but what the test has put up is changed.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys

OUTSIDE = json.loads(sys.argv[1])
LIBC = ctypes.CDLL(None, use_errno=True)


def read_a_secret():
    return open(OUTSIDE["secret"]).read()


def list_the_machine():
    return os.listdir(os.path.dirname(OUTSIDE["secret"]))


def write_outside():
    with open(os.path.join(OUTSIDE["shared"], "out"), "w") as file:
        return file.write("out")


def write_by_a_link():
    os.symlink(OUTSIDE["shared"], "link")
    with open("link/by-link", "w") as file:
        return file.write("out")


def open_a_program():
    with open("/usr/bin/env", "ab"):
        return True


def spoil_the_repository():
    objects = open(".git/objects/info/alternates").read().strip()
    with open(os.path.join(objects, "out"), "w") as file:
        return file.write("out")


def reach_by_tcp():
    with socket.create_connection(("127.0.0.1", OUTSIDE["tcp"]), timeout=5) as wire:
        return wire.recv(1)


def reach_by_udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.settimeout(2)
        wire.sendto(b"out", ("127.0.0.1", OUTSIDE["udp"]))
        return wire.recv(1)


def reach_by_a_socket():
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(OUTSIDE["socket"])
        return wire.recv(1)


def reach_by_an_abstract_socket():
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect("\0" + OUTSIDE["abstract"])
        return wire.recv(1)


def see_a_process():
    return open("/proc/%d/cmdline" % OUTSIDE["process"]).read()


def end_a_process():
    os.kill(OUTSIDE["process"], signal.SIGKILL)
    return True


def find_a_token():
    found = []
    for number in os.listdir("/proc"):
        try:
            found.append(open("/proc/%s/environ" % number).read())
        except OSError:
            pass
    return OUTSIDE["token"] in "\n".join(found)


def end_the_keeper():
    os.kill(1, signal.SIGKILL)
    return True


def take_the_keeper_over():
    attached = LIBC.ptrace(16, os.getppid(), 0, 0)
    return attached == 0


def become_root():
    os.setuid(0)
    return os.getuid() == 0


def become_root_by_a_program():
    done = subprocess.run(["su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    return done.stdout.strip() == "0"


def mount_something():
    os.mkdir("mounted")
    return LIBC.mount(b"none", b"mounted", b"tmpfs", 0, 0) == 0


def make_a_namespace():
    return LIBC.unshare(0x10000000 | 0x00020000) == 0


def find_the_old_root():
    fd = os.open("/", os.O_RDONLY)
    os.chroot(".")
    os.fchdir(fd)
    for _ in range(64):
        os.chdir("..")
    return os.path.exists(OUTSIDE["secret"].lstrip("/"))


def make_a_device():
    os.mknod("null", 0o600 | 0o020000, os.makedev(1, 3))
    return True


def call(name, *arguments):
    """A call by its number, which is another on each architecture."""
    numbers = {
        "x86_64": {"add_key": 248, "keyctl": 250, "io_uring_setup": 425, "bpf": 321},
        "aarch64": {"add_key": 217, "keyctl": 219, "io_uring_setup": 425, "bpf": 280},
    }
    done = LIBC.syscall(numbers[os.uname().machine][name], *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


def read_the_sessions_keys():
    # KEYCTL_GET_KEYRING_ID of the session's keyring, which is there for whoever started it.
    return call("keyctl", 0, -3, 0) != 0


def keep_a_key():
    return call("add_key", b"user", b"phasegate-test", b"x", 1, -2) != 0


def make_a_ring():
    os.close(call("io_uring_setup", 1, ctypes.create_string_buffer(120)))
    return True


def reach_the_machine_around():
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    return True


def read_the_keepers_order():
    said = open("/proc/1/cmdline").read()
    return os.getcwd() in said or "{" in said


for name in sys.argv[2:]:
    try:
        out = globals()[name]()
    except (OSError, subprocess.SubprocessError) as error:
        print("held: %s (%s)" % (name, error))
        continue
    print("%s: %s" % ("ESCAPED" if out else "held", name))

# What it leaves behind must not outlive it.
subprocess.Popen(["sleep", OUTSIDE["sleep"]], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("ways: %d" % len(sys.argv[2:]))
