"""The proxy does each harm that it is told to, and none else."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from rig.proxy import Mode, Network, Proxy

Connect = Callable[[], socket.socket]
SENT = bytes(range(97, 123)) * 10


@pytest.fixture
def network(echo: int) -> Iterator[Network]:
    """Proxies, whose connections end before the server that they lead to."""
    made = Network()
    yield made
    made.close()


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server,))
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _serve(server: socket.socket) -> None:
    threads = []
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            break
        threads.append(threading.Thread(target=_answer, args=(connection,)))
        threads[-1].start()
    for thread in threads:
        thread.join()


def _answer(connection: socket.socket) -> None:
    with connection:
        try:
            while piece := connection.recv(2**14):
                connection.sendall(piece)
        except OSError:
            pass  # a proxy that ends connections is what is tested


@pytest.fixture
def proxy(network: Network, echo: int) -> Proxy:
    return network.proxy(0, echo)


@pytest.fixture
def connect(proxy: Proxy) -> Iterator[Callable[[], socket.socket]]:
    """Connects to the proxy; a reply may take long on a busy machine."""
    made: list[socket.socket] = []

    def new() -> socket.socket:
        made.append(socket.create_connection(("127.0.0.1", proxy.port), timeout=60))
        return made[-1]

    yield new
    for each in made:
        each.close()


def echoed(connection: socket.socket, sent: bytes = SENT) -> bytes:
    """Send, and read as many bytes back, or fewer where the connection ends."""
    connection.sendall(sent)
    found = b""
    while len(found) < len(sent) and (piece := connection.recv(len(sent))):
        found += piece
    return found


def test_what_passes_is_as_it_was(connect: Connect) -> None:
    connection = connect()

    assert echoed(connection) == SENT
    assert echoed(connection, SENT * 1_000) == SENT * 1_000


def test_an_end_passes_too(connect: Connect) -> None:
    connection = connect()
    connection.sendall(b"a")
    connection.shutdown(socket.SHUT_WR)

    assert connection.recv(1) == b"a"
    assert connection.recv(1) == b""


def test_delay_holds_pieces_back(network: Network, proxy: Proxy, connect: Connect) -> None:
    network.set(proxy, Mode("delay", seconds=0.2))
    start = time.monotonic()

    assert echoed(connect()) == SENT
    assert time.monotonic() - start >= 2 * 0.2


def test_throttle_lets_so_many_bytes_pass_in_a_second(
    network: Network, proxy: Proxy, connect: Connect
) -> None:
    network.set(proxy, Mode("throttle", rate=2_000))
    start = time.monotonic()

    assert echoed(connect()) == SENT
    assert time.monotonic() - start >= 2 * len(SENT) / 2_000


def test_drop_loses_nothing_that_arrives_later(
    network: Network, proxy: Proxy, connect: Connect
) -> None:
    connection = connect()
    assert echoed(connection) == SENT
    network.set(proxy, Mode("drop"))
    connection.sendall(SENT)
    connection.settimeout(0.3)
    with pytest.raises(TimeoutError):
        connection.recv(1)

    network.set(proxy, Mode())

    connection.settimeout(60)
    assert connection.recv(1) == SENT[:1]


def test_half_close_ends_one_direction_after_a_piece(
    network: Network, proxy: Proxy, connect: Connect
) -> None:
    network.set(proxy, Mode("half-close"))
    connection = connect()

    assert echoed(connection) == SENT
    assert connection.recv(1) == b""


def test_reset_ends_connections_that_are_and_that_come(
    network: Network, proxy: Proxy, connect: Connect
) -> None:
    connection = connect()
    assert echoed(connection) == SENT

    network.set(proxy, Mode("reset"))

    with pytest.raises(ConnectionError):
        connection.recv(1)
    with pytest.raises(ConnectionError):  # at once, or when it is used
        echoed(connect())


def test_a_reset_by_the_server_reaches_the_client(network: Network) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        between = network.proxy(0, server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", between.port), timeout=60) as connection:
            connection.sendall(SENT)
            accepted, _ = server.accept()
            accepted.recv(1)
            accepted.close()  # with bytes that were not read: by RST

            with pytest.raises(ConnectionError):
                connection.recv(1)


def test_flip_changes_one_bit_on_each_way(network: Network, proxy: Proxy, connect: Connect) -> None:
    network.set(proxy, Mode("flip"))

    found = echoed(connect())

    assert len(found) == len(SENT)
    changed = [one ^ other for one, other in zip(found, SENT, strict=True) if one != other]
    assert sum(bits.bit_count() for bits in changed) in {0, 2}


def test_garble_spares_all_but_the_beginning_of_new_connections(
    network: Network, proxy: Proxy, connect: Connect
) -> None:
    network.set(proxy, Mode("garble"))
    connection = connect()

    found = echoed(connection)

    assert found[16:] == SENT[16:]
    assert all(byte > 127 for byte in found[:16])
    assert echoed(connection) == SENT


def test_a_server_that_is_away_is_told_by_a_reset(
    network: Network, connect: Connect, proxy: Proxy
) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        lonely = network.proxy(0, deaf.getsockname()[1])

        with (
            pytest.raises(ConnectionError),
            socket.create_connection(("127.0.0.1", lonely.port), timeout=60) as connection,
        ):
            echoed(connection)
