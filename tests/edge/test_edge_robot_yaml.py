"""Robot files: what loads, and what each refusal says to the person who reads it."""

import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.edge.config_reading import load_config
from steadyhand.edge.robot_yaml import apply_overrides, config_hash, dump_robot, load_robot
from steadyhand.ground.config import CommunicationConfig, RemoteNodeConfig, RobotConfig, RobotIdentity
from steadyhand.ground.config_safety import (
    BoxArea,
    HalfSpace,
    HalfSpacesArea,
    SafetyConfig,
    SafetyPolicy,
    StreamShaperConfig,
    WorkAreaConfig,
)
from steadyhand.ground.errors import ConfigError

ROBOTS = Path(__file__).parents[2] / "config" / "robots"
ROBOT = "robot: {id: fr3, type: fairino, model: fr3}\n"
CONFIG = RobotConfig(robot=RobotIdentity(id="fr3", type="fairino", model="fr3"))

# Document 000, the table of deployed values: buffer ms, adaptive ceiling ms, underrun e-stop ms,
# wire debug. 0, 0, −1 and false are the defaults of keys the table leaves out.
DEPLOYED = {
    "fairino_fr20_remote_node": (200.0, 400.0, 20.0, False),
    "fairino_fr3_remote_node": (200.0, 500.0, 20.0, False),
    "fairino_fr20_remote_node_local": (200.0, 400.0, 20.0, False),
    "fairino_fr20_simmachine_remote_node": (200.0, 400.0, 20.0, False),
    "fairino_fr20_simmachine_remote_node_watch": (200.0, 400.0, 20.0, True),
    "fairino_fr20_simmachine_remote_node_local": (0.0, 0.0, -1.0, False),
    "fairino_fr3_remote_node_local": (0.0, 0.0, -1.0, False),
}

# R18: v_max °/s, a_max °/s², lag s, margin °, joint speed °/s.
TUNING = {
    "fr3": (130.0, 500.0, 0.080, 3.0, 150.0),
    "fr20": (120.0, 500.0, 0.115, 4.0, 140.0),
    "sim": (130.0, 500.0, 0.040, 3.0, 150.0),
}


def refusal(tmp_path: Path, text: str) -> str:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_robot(path)
    message = str(caught.value)
    assert message.isprintable(), "an error is one line"
    assert caught.value.exit_code == 2
    return message.replace(f"{tmp_path}/", "")


# The deployed files.


def test_the_deployed_files_are_those_of_the_table() -> None:
    assert {path.stem for path in ROBOTS.glob("*.yaml")} == set(DEPLOYED)


@pytest.mark.parametrize("name", DEPLOYED)
def test_a_deployed_file_loads_with_the_values_of_the_table(name: str) -> None:
    communication = load_robot(ROBOTS / f"{name}.yaml").communication
    assert communication.publish_rate_hz == 100.0
    assert communication.period_ns == 10_000_000
    assert DEPLOYED[name] == (
        communication.playout_buffer_ms,
        communication.playout_adaptive_max_ms,
        communication.playout_underrun_estop_after_ms,
        communication.playout_wire_debug,
    )


@pytest.mark.parametrize("name", DEPLOYED)
def test_a_deployed_file_is_sealed_and_tuned_by_r18(name: str) -> None:
    config = load_robot(ROBOTS / f"{name}.yaml")
    row = "sim" if "simmachine" in name else config.robot.model
    safety = config.safety
    assert config.remote_node.auth == "sealed"
    assert safety is not None
    assert safety.stream_shaper is not None
    assert safety.divergence_guard is not None
    assert safety.joint_speed is not None
    assert TUNING[row] == (
        safety.stream_shaper.v_max_deg_s,
        safety.stream_shaper.a_max_deg_s2,
        safety.divergence_guard.lag_s,
        safety.divergence_guard.margin_deg,
        safety.joint_speed.max_deg_s,
    )
    assert "stand until" in (ROBOTS / f"{name}.yaml").read_text(), "R18: each file says that it is unmeasured"


def test_a_simulated_controller_never_has_a_real_arms_id() -> None:
    ids = {name: load_robot(ROBOTS / f"{name}.yaml").robot.id for name in DEPLOYED}
    simulated = {ident for name, ident in ids.items() if "simmachine" in name}
    assert simulated.isdisjoint(ident for name, ident in ids.items() if "simmachine" not in name)


# Wrong keys and values.


def test_a_misspelt_key_names_file_line_path_and_the_nearest_key(tmp_path: Path) -> None:
    assert refusal(tmp_path, ROBOT + "communication:\n  playout_bufer_ms: 200\n") == (
        "r.yaml:3: communication.playout_bufer_ms: unknown key (did you mean playout_buffer_ms?)"
    )


def test_a_key_in_the_wrong_block_names_the_right_one(tmp_path: Path) -> None:
    assert refusal(tmp_path, ROBOT + "remote_node: {playout_buffer_ms: 200}\n") == (
        "r.yaml:2: remote_node.playout_buffer_ms: unknown key (did you mean communication.playout_buffer_ms?)"
    )


def test_a_key_like_no_other_lists_the_known_ones(tmp_path: Path) -> None:
    assert refusal(tmp_path, ROBOT + "zzz: 1\n") == (
        "r.yaml:2: zzz: unknown key (known keys: robot, communication, remote_node, safety)"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("playout_buffer_ms: abc", "expected a number, found the text 'abc'"),
        ("playout_buffer_ms: [1]", "expected a number, found a list"),
        ("playout_buffer_ms: null", "expected a number, found nothing"),
        ("playout_buffer_ms: true", "expected a number, found true"),
        ("playout_buffer_ms: 0x" + "f" * 500, "expected a number, found a very large number"),
        ("playout_wire_debug: 1", "expected true or false, found the number 1"),
        ("playout_wire_debug: 'true'", "expected true or false, found the text 'true'"),
    ],
)
def test_a_value_of_the_wrong_type_says_what_was_expected_and_found(
    tmp_path: Path, line: str, said: str
) -> None:
    key = line.partition(":")[0]
    assert (
        refusal(tmp_path, ROBOT + f"communication:\n  {line}\n") == f"r.yaml:3: communication.{key}: {said}"
    )


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("deadman_s: 1e3", "YAML takes this for text; write 1000, without quotes"),
        ("deadman_s: -.5", "YAML takes this for text; write -0.5, without quotes"),
        ("deadman_s: '1'", "YAML takes this for text; write 1, without quotes"),
        ("udp_port: 5e4", "YAML takes this for text; write 50000, without quotes"),
        ("redundancy: '5'", "YAML takes this for text; write 5, without quotes"),
        ("redundancy: atuo", "did you mean auto?"),
        ("transport: upd", "did you mean udp?"),
        ("host: no", "YAML reads yes, no, on and off as true or false; put text in quotes"),
        ("host: 10", "put text in quotes"),
    ],
)
def test_a_mistake_that_yaml_invites_comes_with_its_remedy(tmp_path: Path, line: str, hint: str) -> None:
    assert refusal(tmp_path, ROBOT + f"remote_node:\n  {line}\n").endswith(f"({hint})")


@pytest.mark.parametrize("value", ["11", "-1", "1.5", "[]"])
def test_redundancy_is_auto_or_zero_to_ten(tmp_path: Path, value: str) -> None:
    said = refusal(tmp_path, ROBOT + f"remote_node: {{redundancy: {value}}}\n")
    assert "remote_node.redundancy: expected auto or a whole number from 0 to 10, found" in said


@pytest.mark.parametrize("value", ["auto", "0", "10"])
def test_redundancy_takes_what_it_says(tmp_path: Path, value: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(ROBOT + f"remote_node: {{redundancy: {value}}}\n")
    assert str(load_robot(path).remote_node.redundancy) == value


def test_yes_is_a_boolean_where_one_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(ROBOT + "communication: {playout_wire_debug: yes}\n")
    assert load_robot(path).communication.playout_wire_debug is True


def test_whole_numbers_are_numbers_and_nan_reaches_the_playout_keys(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(ROBOT + "communication: {publish_rate_hz: 100, playout_buffer_ms: .nan}\n")
    communication = load_robot(path).communication
    assert isinstance(communication.publish_rate_hz, float)
    assert math.isnan(communication.playout_buffer_ms)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_file_says_so(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text) == "r.yaml: is empty (required: robot)"


@pytest.mark.parametrize(
    ("text", "found"), [("[1]", "a list"), ("abc", "the text 'abc'"), ("5", "the number 5")]
)
def test_a_file_that_is_no_mapping_says_what_it_is(tmp_path: Path, text: str, found: str) -> None:
    assert refusal(tmp_path, text) == f"r.yaml:1: expected a block of keys, found {found}"


def test_a_block_without_keys_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path, ROBOT + "communication:\n") == (
        "r.yaml:2: communication: expected a block of keys, found nothing"
    )


def test_a_missing_key_is_named_with_what_it_takes(tmp_path: Path) -> None:
    assert refusal(tmp_path, "robot: {id: fr3, model: fr3}\n") == (
        "r.yaml:1: robot: the key type is missing (expected fairino or simulated)"
    )


def test_a_contradiction_names_the_line_of_its_key(tmp_path: Path) -> None:
    text = "robot:\n  id: a\n  type: fairino\n  model: a\n  joint_names: [a, b]\n"
    assert refusal(tmp_path, text) == (
        "r.yaml:5: robot.joint_names: 2 entries for n_joints 6 (give 6 entries, or none)"
    )


def test_an_entry_of_a_list_is_named_by_its_index(tmp_path: Path) -> None:
    text = "robot: {id: a, type: fairino, model: a, n_joints: 2, joint_limits_deg: [[-1, 1], [1, a]]}\n"
    assert refusal(tmp_path, text) == (
        "r.yaml:1: robot.joint_limits_deg[1][1]: expected a number, found the text 'a'"
    )


def test_a_shape_is_chosen_by_its_tag(tmp_path: Path) -> None:
    area = "safety: {workarea: {area: {shape: box, lower_m: [0, 0, 0], upper_m: [1, 1, 1]}}}\n"
    path = tmp_path / "r.yaml"
    path.write_text(ROBOT + area)
    safety = load_robot(path).safety
    assert safety is not None
    assert safety.workarea == WorkAreaConfig(area=BoxArea(lower_m=(0.0, 0.0, 0.0), upper_m=(1.0, 1.0, 1.0)))
    for wrong, said in (
        ("shape: bxo", "area.shape: expected box or cylinder or half_spaces, found the text 'bxo'"),
        ("radius_m: 1", "area: the key shape is missing (expected box or cylinder or half_spaces)"),
        ("shape: half_spaces, walls: []", "area.walls: expected a list of 1 to 64, each entry"),
    ):
        assert said in refusal(tmp_path, ROBOT + f"safety: {{workarea: {{area: {{{wrong}}}}}}}\n")


def test_another_file_than_a_robots_is_read_by_its_own_struct(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("strict_robot_types:\n  fairino: {required: [joint_speed]}\n")
    assert load_config(path, SafetyPolicy).required_for("fairino") == ("joint_speed",)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["robot", "communication", "safety", "id", "type", "publish_rate_hz", "area", "shape"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
@settings(max_examples=80)
def test_any_tree_of_values_loads_or_is_a_config_error(tree: object) -> None:
    text = msgspec.yaml.encode(tree).decode()
    message = ""
    try:
        apply_overrides(CONFIG, {"communication": text, "safety": text})
    except ConfigError as error:
        message = str(error)
    assert message.isprintable()


# Overrides.


def test_an_override_changes_one_value_and_not_its_source() -> None:
    changed = apply_overrides(CONFIG, {"communication.playout_buffer_ms": "120"})
    assert changed.communication == CommunicationConfig(playout_buffer_ms=120.0)
    assert CONFIG.communication == CommunicationConfig()
    assert changed.remote_node == CONFIG.remote_node


def test_two_overrides_are_judged_together() -> None:
    both = {"remote_node.udp_port": "50065", "remote_node.telemetry_port": "50063"}
    assert apply_overrides(CONFIG, both).remote_node.udp_port == 50065


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("communication.playout_bufer_ms", "1", "unknown key (did you mean playout_buffer_ms?)"),
        ("playout_buffer_ms", "1", "unknown key (did you mean communication.playout_buffer_ms?)"),
        ("communication.playout_buffer_ms.x", "1", "unknown key (the value above it has no keys)"),
        ("communication.playout_buffer_ms", "abc", "expected a number, found the text 'abc'"),
        ("communication.playout_buffer_ms", "", "expected a number, found nothing"),
        ("remote_node.redundancy", "11", "expected auto or a whole number from 0 to 10, found the number 11"),
    ],
)
def test_a_wrong_override_has_the_same_errors(path: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        apply_overrides(CONFIG, {path: text})
    assert str(caught.value) == f"--set: {path}: {said}"


def test_an_override_that_is_no_yaml_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^--set communication\.publish_rate_hz:1: not valid YAML"):
        apply_overrides(CONFIG, {"communication.publish_rate_hz": "[1"})


def test_an_override_that_contradicts_the_file_names_the_option() -> None:
    with pytest.raises(
        ConfigError, match=r"^--set remote_node\.udp_port: remote_node\.telemetry_port: is udp_"
    ):
        apply_overrides(CONFIG, {"remote_node.udp_port": "50065"})


def test_an_override_inside_an_absent_block_opens_it() -> None:
    bounds = {"safety.stream_shaper.v_max_deg_s": "90", "safety.stream_shaper.a_max_deg_s2": "400"}
    safety = apply_overrides(CONFIG, bounds).safety
    assert safety is not None
    assert safety.stream_shaper == StreamShaperConfig(v_max_deg_s=90.0, a_max_deg_s2=400.0)


# The canonical text and its hash.

numbers = st.floats()
configs = st.builds(
    RobotConfig,
    robot=st.builds(
        RobotIdentity,
        id=st.text(min_size=1, max_size=8),
        type=st.sampled_from(["fairino", "simulated"]),
        model=st.text(min_size=1, max_size=8),
        n_joints=st.just(1),
        joint_limits_deg=st.sampled_from([(), ((-1.5, 1e-7),)]),
    ),
    communication=st.builds(
        CommunicationConfig,
        publish_rate_hz=numbers,
        playout_buffer_ms=numbers,
        playout_adaptive_max_ms=numbers,
        playout_underrun_estop_after_ms=numbers,
        playout_wire_debug=st.booleans(),
    ),
    remote_node=st.builds(RemoteNodeConfig, redundancy=st.just("auto") | st.integers(0, 10)),
    safety=st.sampled_from(
        [
            None,
            SafetyConfig(
                workarea=WorkAreaConfig(
                    area=HalfSpacesArea(walls=(HalfSpace(normal=(0.0, 0.0, 1.0), offset_m=1.0),))
                )
            ),
        ]
    ),
)


@given(configs)
@settings(max_examples=60)
def test_the_canonical_text_loads_as_the_same_configuration(config: RobotConfig) -> None:
    overrides = {key: value for key, value in blocks(dump_robot(config)).items() if value != "null"}
    again = apply_overrides(CONFIG, overrides)
    assert config_hash(again) == config_hash(config)
    assert again.robot == config.robot
    assert again.remote_node == config.remote_node
    assert again.safety == config.safety
    for written, read in zip(
        msgspec.structs.astuple(config.communication),
        msgspec.structs.astuple(again.communication),
        strict=True,
    ):
        assert read == written or (math.isnan(read) and math.isnan(written))


def blocks(text: str) -> dict[str, str]:
    """The top-level blocks of a robot file, each as YAML text."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(" "):
            found[name] += line[2:] + "\n"
        else:
            name, _, rest = line.partition(":")
            found[name] = rest.strip()
    return found


@pytest.mark.parametrize("name", DEPLOYED)
def test_the_canonical_text_of_a_deployed_file_loads_again(tmp_path: Path, name: str) -> None:
    config = load_robot(ROBOTS / f"{name}.yaml")
    path = tmp_path / "canonical.yaml"
    path.write_text(dump_robot(config))
    assert load_robot(path) == config
    assert dump_robot(load_robot(path)) == dump_robot(config)


def test_the_hash_is_of_meaning_not_of_spelling(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("# spelt otherwise\n" + ROBOT + "communication: {playout_buffer_ms: -0.0}\n")
    spelt_out = RobotConfig(robot=CONFIG.robot, communication=CommunicationConfig(publish_rate_hz=50))
    assert config_hash(load_robot(path)) == config_hash(CONFIG) == config_hash(spelt_out)


def test_every_key_is_in_the_hash() -> None:
    hashes = {config_hash(CONFIG)}
    changes = {
        "robot.id": "other",
        "robot.n_joints": "7",
        "communication.playout_clock_trim": "false",
        "communication.playout_buffer_ms": ".nan",
        "remote_node.auth": "none",
        "safety": "{}",
    }
    for path, text in changes.items():
        hashes.add(config_hash(apply_overrides(CONFIG, {path: text})))
    assert len(hashes) == 1 + len(changes)


def test_the_hash_of_a_known_configuration_never_changes() -> None:
    """Two hosts of different versions compare it: a new key changes it on purpose, nothing else may."""
    assert dump_robot(CONFIG).startswith('robot:\n  id: "fr3"\n  type: "fairino"\n')
    assert len(config_hash(CONFIG)) == 64
    assert config_hash(CONFIG) == "16061c0590691779299ed9f47585de9306d1f75a3adfaa010e9cae28d4b59766"
