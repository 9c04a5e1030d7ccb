"""Motions from files, good and bad; the two recordings where they are at hand."""

import re
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.edge.motion_csv import load_motion, read_motion
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import Motion

RECORDINGS = Path(__file__).parents[3] / "shared" / "data" / "motions"


def write(folder: Path, content: str | bytes) -> str:
    file = folder / "m.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(file)


def test_a_recording_is_read_with_its_irregular_stamps(tmp_path: Path) -> None:
    motion = read_motion(write(tmp_path, "t_s,j1_deg,j2_deg\n5.0,1,2\n5.034,3,4\n5.046,5,6\n"))
    assert motion.times_s == pytest.approx((0.0, 0.034, 0.046))
    assert motion.poses_deg == ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))
    assert motion.interpolation == "spline"


@pytest.mark.parametrize("joints", [1, 12])
def test_one_to_twelve_joints(tmp_path: Path, joints: int) -> None:
    header = ",".join(["t_s", *(f"j{number}_deg" for number in range(1, joints + 1))])
    rows = "\n".join(",".join([str(tick), *["1.5"] * joints]) for tick in range(3))
    assert read_motion(write(tmp_path, f"{header}\n{rows}\n")).n_joints == joints


def test_columns_may_come_in_any_order_with_others_between(tmp_path: Path) -> None:
    motion = read_motion(write(tmp_path, "j2_deg,note,t_s,j1_deg\n2,x,0,1\n4,,1,3\n"))
    assert motion.poses_deg == ((1.0, 2.0), (3.0, 4.0))


def test_what_tools_write_is_tolerated(tmp_path: Path) -> None:
    text = '\ufeff# arm 7\r\n\r\nT_S; "J1_deg"\r\n0;"1.5"\r\n\r\n1;2.5;\r\n'
    assert read_motion(write(tmp_path, text)).poses_deg == ((1.5,), (2.5,))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "m.csv: is empty"),
        (b" \r\n\n", "m.csv: is empty"),
        ("t_s,j1_deg\n", "m.csv: a motion needs at least two rows, not 0"),
        ("t_s,j1_deg\n0,1\n", "m.csv: a motion needs at least two rows, not 1"),
        ("t,j1_deg\n0,1\n1,1\n", "m.csv: has no column t_s (its columns are 't, j1_deg')"),
        ("t_s,x\n0,1\n1,1\n", "m.csv: has no column j1_deg"),
        ("t_s,j1_deg,j4_deg\n0,1,1\n", "m.csv: has no column j2_deg and no j3_deg"),
        ("t_s,j1_deg,j13_deg\n0,1,1\n", "m.csv: has a column j13_deg; 12 joints are the most"),
        ("0,1\n1,1\n", "m.csv: has no column t_s"),
        ("t_s,j1_deg,j1_deg\n0,1,1\n", "m.csv, line 1: column 'j1_deg' is there twice"),
        ("t_s,j1_deg\n0,1\n\n1,nan\n", "m.csv, line 4: j1_deg is 'nan', not a finite number"),
        ("t_s,j1_deg\n0,1\n1,-inf\n", "m.csv, line 3: j1_deg is '-inf', not a finite number"),
        ("t_s,j1_deg\n0,1\n1,\n", "m.csv, line 3: j1_deg is '', not a number"),
        ("t_s,j1_deg\n0,1\n1\n", "m.csv, line 3: has 1 cells for 2 columns"),
        ("t_s,j1_deg\n0,1\n1,2,3\n", "m.csv, line 3: has 3 cells for 2 columns"),
        ("t_s,j1_deg\n0,1\n1,1e9\n", "m.csv, line 3: j1_deg is 1e+09, over a hundred turns"),
        ("t_s,j1_deg\n0,1\n0,1\n", "m.csv, line 3: t_s is 0 after 0; stamps must increase"),
        ("t_s,j1_deg\n1,1\n0.5,1\n", "m.csv, line 3: t_s is 0.5 after 1; stamps must increase"),
        ("t_s,j1_deg\n0,one\n", "m.csv, line 2: j1_deg is 'one', not a number"),
        ("t_s,j1_deg\n0," + "9" * 9999 + "x\n", "…', not a number"),
        ('t_s,j1_deg\n0,"1\n', "m.csv, line 2: is not CSV: unexpected end of data"),
        (b"t_s,j1_deg\n0,\xff\xfe\n", "m.csv, line 2: is not text (UTF-8 is expected)"),
        (b"t_s,j1_deg\n0,\x001\n", "m.csv, line 2: is not text, but binary data"),
        (b"\xff\xfet\x00_\x00s\x00", "m.csv: is UTF-16 text (save it as UTF-8)"),
        (b"\x7fELF\x02\x01\x01\x00", "m.csv, line 1: is not text"),
        ("# only a comment\n", "m.csv: has no header line"),
    ],
)
def test_a_bad_file_is_one_line_that_says_what_and_where(
    tmp_path: Path, content: str | bytes, says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        read_motion(write(tmp_path, content))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250 + len(str(tmp_path))
    assert caught.value.exit_code == 2


def test_a_name_is_a_built_in_and_a_seed_is_the_callers() -> None:
    assert load_motion("sine").name == "sine"
    assert load_motion("reaches").poses_deg == load_motion("reaches", rng=Random(0)).poses_deg
    assert load_motion("reaches").poses_deg != load_motion("reaches", rng=Random(1)).poses_deg


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(InputError, match=re.escape("no motion and no file 'reach' (did you mean reaches?)")):
        load_motion("reach")
    with pytest.raises(InputError, match=re.escape("(built in are reaches, sine, step)")):
        load_motion("xyzzy")


def test_a_missing_file_a_folder_and_an_impossible_path_are_one_line(tmp_path: Path) -> None:
    for path, says in (
        (str(tmp_path / "none.csv"), "cannot be read: no such file"),
        (str(tmp_path), "cannot be read: is a directory"),
        ("a\0b.csv", "cannot be read: not a usable path"),
        ("x" * 5000 + ".csv", "cannot be read: file name too long"),
        (str(tmp_path / "two\nlines.csv"), "cannot be read: no such file"),
    ):
        with pytest.raises(InputError, match=says) as caught:
            load_motion(path)
        assert "\n" not in str(caught.value)


def test_a_file_without_permission_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "t_s,j1_deg\n0,1\n1,1\n")

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Not by chmod: the superuser may read anything.
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"m\.csv: cannot be read: permission denied"):
        load_motion(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.text(alphabet='t_s,j12_deg\n\r0.5-e9nai;#" ', max_size=80).map(str.encode),
        st.text(alphabet='0123.,-e\n"', max_size=60).map(lambda text: b"t_s,j1_deg\n" + text.encode()),
    )
)
def test_any_bytes_are_a_motion_or_one_line(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    try:
        motion = read_motion(path)
    except InputError as error:
        line = str(error)
    else:
        line = motion.name
    assert "\n" not in line


@pytest.fixture(params=["ur10e_excitation", "ur10e_unloaded"])
def recording(request: pytest.FixtureRequest) -> tuple[str, Motion, Motion]:
    path = RECORDINGS / f"{request.param}.csv"
    if not path.exists():
        pytest.skip("the recorded motions are not ours to redistribute and not at hand")
    return str(request.param), load_motion(str(path)), load_motion(str(path), interpolation="linear")


EXPECTED = {  # rows, length s, fastest joint °/s, peak acceleration at 100 Hz: spline, linear
    "ur10e_excitation": (3104, 33.2, 82, 331, 535),
    "ur10e_unloaded": (2623, 27.99, 87, 241, 286),
}


def test_the_recordings_are_as_their_table_says(recording: tuple[str, Motion, Motion]) -> None:
    name, motion, _ = recording
    rows, length_s, fastest_deg_s, _, _ = EXPECTED[name]
    assert len(motion.times_s) == rows
    assert motion.duration_s == pytest.approx(length_s)
    assert motion.n_joints == 6
    speeds = [
        abs(b - a) / (end_s - begin_s)
        for (begin_s, one), (end_s, two) in pairwise(zip(motion.times_s, motion.poses_deg, strict=True))
        for a, b in zip(one, two, strict=True)
    ]
    assert max(speeds) == pytest.approx(fastest_deg_s, abs=0.5)


def test_the_peak_accelerations_are_those_of_the_docstring(recording: tuple[str, Motion, Motion]) -> None:
    name, spline, linear = recording
    *_, spline_deg_s2, linear_deg_s2 = EXPECTED[name]
    for motion, expected in ((spline, spline_deg_s2), (linear, linear_deg_s2)):
        rows = motion.resample(100.0, motion.duration_s)
        peak = max(
            abs(c - 2.0 * b + a) * 1e4
            for one, two, three in zip(rows, rows[1:], rows[2:], strict=False)
            for a, b, c in zip(one, two, three, strict=True)
        )
        assert peak == pytest.approx(expected, abs=1.0)


def test_the_spline_stays_within_two_hundredths_of_a_degree(recording: tuple[str, Motion, Motion]) -> None:
    _, spline, linear = recording
    for tick in range(0, 3000, 7):
        assert spline.at(tick / 100) == pytest.approx(linear.at(tick / 100), abs=0.02)
