"""Packets are understood and refused whatever they are; the kernel judges the answers in test_netns.py."""

from __future__ import annotations

import ipaddress
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.isolation._netns_packets import (
    TCP,
    UDP,
    Attempt,
    asked_name,
    attempt_of,
    checksum,
    read_packet,
    refusal,
)

SYN, RST, ACK, PSH = 0x02, 0x04, 0x10, 0x08
HERE4, HERE6 = "192.0.2.1", "2001:db8::1"


def ip(protocol: int, target: str, payload: bytes) -> bytes:
    there = ipaddress.ip_address(target)
    if there.version == 6:
        head = struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64)
        return head + ipaddress.ip_address(HERE6).packed + there.packed + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0)
    return head + ipaddress.ip_address(HERE4).packed + there.packed + payload


def tcp(port: int, flags: int, number: int = 1000, acknowledged: int = 0) -> bytes:
    return struct.pack("!HHIIBBHHH", 40000, port, number, acknowledged, 5 << 4, flags, 1000, 0, 0)


def udp(port: int, data: bytes) -> bytes:
    return struct.pack("!HHHH", 40000, port, 8 + len(data), 0) + data


def question(name: str, *, identity: int = 7) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack("!HHHHHH", identity, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", 1, 1)


@pytest.mark.parametrize("host", ["93.184.216.34", "2606:2800:220:1::1"])
def test_the_first_packet_of_a_connection_is_a_try_and_what_follows_is_none(host):
    first = read_packet(ip(TCP, host, tcp(443, SYN)))
    assert attempt_of(first) == Attempt("tcp", host, 443, 40000)
    assert attempt_of(read_packet(ip(TCP, host, tcp(443, PSH | ACK)))) is None


@pytest.mark.parametrize("host", ["93.184.216.34", "2606:2800:220:1::1"])
def test_a_connection_is_reset_with_the_numbers_that_its_program_expects(host):
    answer = read_packet(refusal(read_packet(ip(TCP, host, tcp(443, SYN, number=1000)))))
    port, back, _, acknowledged, _, flags = struct.unpack_from("!HHIIBB", answer.payload)
    assert (port, back, acknowledged, flags) == (443, 40000, 1001, RST | ACK)
    assert str(ipaddress.ip_address(answer.source)) == host


def test_a_packet_in_the_middle_of_a_connection_is_reset_too_and_a_reset_is_not():
    answer = read_packet(refusal(read_packet(ip(TCP, "9.9.9.9", tcp(443, ACK, acknowledged=77)))))
    _, _, number, _, _, flags = struct.unpack_from("!HHIIBB", answer.payload)
    assert (number, flags) == (77, RST)
    assert refusal(read_packet(ip(TCP, "9.9.9.9", tcp(443, RST)))) is None


def test_a_question_for_a_name_is_a_try_to_reach_that_name_whomever_it_is_put_to():
    packet = read_packet(ip(UDP, "8.8.8.8", udp(53, question("API.Example.com"))))
    assert attempt_of(packet) == Attempt("dns", "api.example.com", 53, 40000)


def test_the_answer_to_a_question_repeats_it_and_says_that_there_is_no_such_name():
    asked = question("api.example.com", identity=4711)
    answer = read_packet(refusal(read_packet(ip(UDP, "8.8.8.8", udp(53, asked + b"what else may come")))))
    message = answer.payload[8:]
    identity, flags, questions, answers = struct.unpack_from("!HHHH", message)
    assert (identity, flags & 0x8000, flags & 0xF, questions, answers) == (4711, 0x8000, 3, 1, 0)
    assert message[12:] == asked[12:]


def test_other_datagrams_are_tries_and_are_told_that_nobody_is_there():
    packet = read_packet(ip(UDP, "8.8.8.8", udp(9999, b"x")))
    assert attempt_of(packet) == Attempt("udp", "8.8.8.8", 9999, 40000)
    assert read_packet(refusal(packet)).payload[:2] == bytes([3, 3])


@pytest.mark.parametrize(
    ("version", "kind", "tried"),
    [(4, 8, True), (4, 0, False), (6, 128, True), (6, 133, False), (6, 143, False)],
)
def test_a_ping_is_a_try_and_what_the_kernel_sends_by_itself_is_none(version, kind, tried):
    payload = struct.pack("!BBHHH", kind, 0, 0, 5, 1)
    packet = read_packet(ip({4: 1, 6: 58}[version], {4: "1.1.1.1", 6: "2606:4700::1111"}[version], payload))
    assert (attempt_of(packet) is not None) == tried
    assert (refusal(packet) is not None) == tried


@given(st.binary(max_size=120))
def test_no_bytes_upset_us(data):
    packet = read_packet(data)
    if packet is not None:
        attempt_of(packet)
        refusal(packet)


@given(
    st.binary(max_size=60), st.sampled_from([1, 6, 17, 58]), st.sampled_from(["8.8.8.8", "2001:4860::8888"])
)
def test_no_payload_upsets_us_and_every_answer_is_a_packet_with_right_checksums(payload, protocol, host):
    packet = read_packet(ip(protocol, host, payload))
    answer = refusal(packet) if packet is not None else None
    if answer is None:
        return
    read = read_packet(answer)
    assert (read.source, read.target) == (packet.target, packet.source)
    if read.version == 4:
        assert checksum(answer[:20]) == 0
    pseudo = read.source + read.target + struct.pack("!II", len(read.payload), read.protocol)
    assert checksum((b"" if read.protocol == 1 else pseudo) + read.payload) == 0


@given(st.binary(max_size=40))
def test_what_is_no_question_has_no_name(data):
    name = asked_name(data)
    assert name is None or name == name.lower()


@given(st.lists(st.from_regex(r"[a-z0-9-]{1,63}", fullmatch=True), min_size=1, max_size=5).map(".".join))
def test_every_name_is_read(name):
    assert asked_name(question(name)) == name


def test_the_checksum_is_the_one_of_the_example_in_rfc_1071():
    assert checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF - 0xDDF2
