"""The table of faults fits the code, and one that does not is refused with the cause."""

from pathlib import Path

import pytest

from tools.mutants.table import Fault, Table, TableError, read

ROOT = Path(__file__).parents[3]
PRICE = "service/shop/price.py"


def fault(**given) -> Fault:
    entry = {"name": "sign", "file": PRICE, "kind": "wrong sign", "effect": "The price is wrong."}
    return Fault(**{**entry, "text": "price * count", "replacement": "-price * count", **given})


def complaint(toy: Path, *faults: Fault, rooms: tuple[str, ...] = ("service/",)) -> str:
    with pytest.raises(TableError) as refused:
        Table(faults, dict.fromkeys(rooms, ("tests",))).check(toy)
    return str(refused.value)


def test_every_fault_fits_the_code() -> None:
    read().check(ROOT)


def test_faults_are_of_many_kinds_and_say_their_effect() -> None:
    faults = read().faults
    assert len(faults) >= 120
    assert len({fault.kind for fault in faults}) >= 60
    assert all(fault.effect.endswith(".") for fault in faults)


def test_each_room_has_three_faults_of_different_kinds() -> None:
    table = read()
    kinds: dict[str, list[str]] = {room: [] for room in table.rooms}
    for fault in table.faults:
        kinds[table.room(fault)].append(fault.kind)
    assert [room for room, found in kinds.items() if len(set(found)) < 3] == []


def test_fault_that_fits_passes(toy: Path) -> None:
    Table((fault(),), {"service/": ("tests",)}).check(toy)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"text": "price + count"}, f"its text occurs 0 times in {PRICE}; it must occur once"),
        ({"text": "return"}, f"its text occurs 3 times in {PRICE}; it must occur once"),
        ({"file": "service/shop/cost.py"}, "there is no file service/shop/cost.py"),
        ({"replacement": "price *"}, f"with it, {PRICE} is no Python: invalid syntax"),
        ({"replacement": "price  *  count"}, f"with it, {PRICE} means the same"),
    ],
)
def test_fault_that_does_not_fit_is_refused(toy: Path, given: dict[str, str], cause: str) -> None:
    assert complaint(toy, fault(**given)) == f"sign: {cause}"


def test_a_script_of_redis_is_compared_without_comments_and_layout(toy: Path) -> None:
    given = {"file": "service/shop/order.lua", "text": "'DEL'"}
    Table((fault(**given, replacement="'GET'"),), {"service/": ("tests",)}).check(toy)

    found = complaint(toy, fault(**{**given, "text": "-- gone"}, replacement="-- gone by now"))
    assert found == "sign: with it, service/shop/order.lua means the same"


def test_two_faults_of_one_name_are_refused(toy: Path) -> None:
    assert complaint(toy, fault(), fault()) == "sign: 2 faults have this name"


def test_room_without_fault_is_refused(toy: Path) -> None:
    found = complaint(toy, fault(), rooms=("service/", "clients/"))
    assert found == "clients/: the room has no fault"


def test_fault_in_no_room_is_refused(toy: Path) -> None:
    found = complaint(toy, fault(), rooms=())
    assert found == f"sign: {PRICE} is in no room"


def test_longest_beginning_is_the_room_and_its_missing_folders_are_left_out(toy: Path) -> None:
    rooms = {"service/": ["tests/label"], "service/shop/": ["tests/gone", "tests/price"]}
    table = Table((fault(),), rooms)
    assert table.room(fault()) == "service/shop/"
    assert table.tests(fault(), toy) == ["tests/price"]


def test_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(TableError, match="no fault is named sing; there are sign"):
        Table((fault(),), {}).chosen(["sing"])
