"""The Merkle log: known roots, proofs that hold, and none that holds for anything else."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.model import Event
from engram.rules import merkle

property_test = settings(deadline=None, max_examples=60)
# The leaves and roots that the Certificate Transparency code bases test with (RFC 6962, unchanged in RFC 9162).
INPUTS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
LEAVES = [merkle.leaf_hash(bytes.fromhex(text)) for text in INPUTS]
sizes = st.integers(1, 40)


def leaves(count: int) -> list[bytes]:
    return [merkle.leaf_hash(str(n).encode()) for n in range(count)]


def slow_root(hashes: list[bytes]) -> bytes:
    """The root level by level: neighbours are joined, the odd one out is carried up."""
    while len(hashes) > 1:
        pairs = [merkle.node_hash(*hashes[n : n + 2]) for n in range(0, len(hashes) - 1, 2)]
        hashes = pairs + hashes[len(pairs) * 2 :]
    return hashes[0] if hashes else hashlib.sha256().digest()


def flips(data: bytes) -> list[bytes]:
    """The bytes with each single bit turned."""
    return [(int.from_bytes(data, "big") ^ 1 << bit).to_bytes(len(data), "big") for bit in range(len(data) * 8)]


@pytest.mark.parametrize("size", range(9))
def test_the_known_trees_have_their_known_roots(size: int) -> None:
    """The empty tree and those of one to eight leaves."""
    assert merkle.root(LEAVES[:size]).hex() == ROOTS[size]


@property_test
@given(st.integers(0, 70))
def test_the_root_agrees_with_a_tree_made_level_by_level(size: int) -> None:
    """Two ways to build the same tree."""
    assert merkle.root(leaves(size)) == slow_root(leaves(size))


def test_known_proofs_are_given() -> None:
    """An inclusion proof and a consistency proof of the eight known leaves, hash by hash."""
    first = [LEAVES[1], merkle.root(LEAVES[2:4]), merkle.root(LEAVES[4:8])]
    assert merkle.inclusion_proof(LEAVES, 0) == first
    assert merkle.consistency_proof(LEAVES, 6) == [
        merkle.root(LEAVES[4:6]),
        merkle.root(LEAVES[6:8]),
        merkle.root(LEAVES[0:4]),
    ]
    assert merkle.consistency_proof(LEAVES, 4) == [merkle.root(LEAVES[4:8])]


@property_test
@given(sizes, st.data())
def test_every_leaf_can_be_proven(size: int, data: st.DataObject) -> None:
    """An honest inclusion proof is accepted, and only at its own index and size, for its own leaf."""
    hashes, index = leaves(size), data.draw(st.integers(0, size - 1))
    proof, head = merkle.inclusion_proof(hashes, index), merkle.root(hashes)
    accepted = [
        (leaf, at)
        for leaf in range(size)
        for at in range(size)
        if merkle.verify_inclusion(hashes[leaf], index=at, size=size, proof=proof, root_hash=head)
    ]
    assert accepted == [(index, index)]


@property_test
@given(sizes, sizes)
def test_a_log_that_only_grew_can_be_proven(one: int, other: int) -> None:
    """An honest consistency proof is accepted; with the sizes' roots swapped or the last leaf changed it is not."""
    old, new = sorted((one, other))
    hashes = leaves(new)
    proof = merkle.consistency_proof(hashes, old)
    old_root, new_root = merkle.root(hashes[:old]), merkle.root(hashes)
    assert merkle.verify_consistency(old_size=old, new_size=new, old_root=old_root, new_root=new_root, proof=proof)
    forged = merkle.root([*hashes[: old - 1], merkle.leaf_hash(b"forged")])
    assert not merkle.verify_consistency(old_size=old, new_size=new, old_root=forged, new_root=new_root, proof=proof)


@pytest.mark.parametrize("size", range(1, 9))
def test_no_flipped_bit_passes_an_inclusion_proof(size: int) -> None:
    """Each single bit of leaf, proof and root, for every leaf of one to eight."""
    hashes, head = LEAVES[:size], merkle.root(LEAVES[:size])
    for index in range(size):
        proof = merkle.inclusion_proof(hashes, index)
        changed = [(leaf, proof, head) for leaf in flips(hashes[index])]
        changed += [(hashes[index], proof, bad) for bad in flips(head)]
        changed += [
            (hashes[index], [*proof[:at], bad, *proof[at + 1 :]], head)
            for at in range(len(proof))
            for bad in flips(proof[at])
        ]
        for leaf, path, root_hash in changed:
            assert not merkle.verify_inclusion(leaf, index=index, size=size, proof=path, root_hash=root_hash)


@pytest.mark.parametrize("old", range(1, 9))
def test_no_flipped_bit_passes_a_consistency_proof(old: int) -> None:
    """Each single bit of both roots and of the proof, from one to eight leaves to eight."""
    proof, new_root, old_root = merkle.consistency_proof(LEAVES, old), merkle.root(LEAVES), merkle.root(LEAVES[:old])
    changed = [(bad, new_root, proof) for bad in flips(old_root)] + [(old_root, bad, proof) for bad in flips(new_root)]
    changed += [
        (old_root, new_root, [*proof[:at], bad, *proof[at + 1 :]])
        for at in range(len(proof))
        for bad in flips(proof[at])
    ]
    for older, newer, path in changed:
        assert not merkle.verify_consistency(old_size=old, new_size=8, old_root=older, new_root=newer, proof=path)


@property_test
@given(sizes, st.data())
def test_a_proof_of_another_length_is_refused(size: int, data: st.DataObject) -> None:
    """One hash too many, or one too few, in either kind of proof."""
    hashes, index = leaves(size), data.draw(st.integers(0, size - 1))
    head, proof = merkle.root(hashes), merkle.inclusion_proof(hashes, index)
    old = index + 1
    grown = merkle.consistency_proof(hashes, old)
    for path in ([*proof, head], *([proof[:-1]] if proof else [])):
        assert not merkle.verify_inclusion(hashes[index], index=index, size=size, proof=path, root_hash=head)
    for path in ([*grown, head], *([grown[:-1]] if grown else [])):
        assert not merkle.verify_consistency(
            old_size=old, new_size=size, old_root=merkle.root(hashes[:old]), new_root=head, proof=path
        )


def test_every_log_begins_with_the_empty_log() -> None:
    """It needs no proof, but it must be the empty log's root."""
    head = merkle.root(LEAVES)
    for root_hash, proof, holds in (
        (merkle.EMPTY_ROOT, [], True),
        (head, [], False),
        (merkle.EMPTY_ROOT, [head], False),
    ):
        assert (
            merkle.verify_consistency(old_size=0, new_size=8, old_root=root_hash, new_root=head, proof=proof) is holds
        )


def test_sizes_that_make_no_sense_prove_nothing() -> None:
    """A log that shrank, an index outside of it."""
    head = merkle.root(LEAVES)
    assert not merkle.verify_consistency(old_size=9, new_size=8, old_root=head, new_root=head, proof=[])
    assert not merkle.verify_consistency(old_size=-1, new_size=8, old_root=head, new_root=head, proof=[])
    assert not merkle.verify_inclusion(LEAVES[0], index=-1, size=8, proof=[], root_hash=head)
    assert not merkle.verify_inclusion(LEAVES[0], index=0, size=0, proof=[], root_hash=merkle.EMPTY_ROOT)


@pytest.mark.parametrize("bad", [-1, 8])
def test_a_proof_for_what_is_not_there_is_refused(bad: int) -> None:
    """No such leaf, no such older log."""
    with pytest.raises(ValueError, match="index"):
        merkle.inclusion_proof(LEAVES, bad)
    with pytest.raises(ValueError, match="old_size"):
        merkle.consistency_proof(LEAVES, bad * 2 if bad > 0 else 0)


EVENT = Event(
    library_id="l",
    seq=1,
    leaf_index=0,
    at=5,
    actor_id="a",
    token_id="t",  # noqa: S106 - an id, no secret
    verb="memory.stored",
    target="m",
    detail="{}",
)


@pytest.mark.parametrize("name", [field.name for field in fields(Event) if field.name != "leaf_hash"])
def test_every_field_of_an_event_is_in_its_leaf(name: str) -> None:
    """A changed field is another leaf; so is a field whose text moved into the next."""
    old: object = getattr(EVENT, name)
    changed = replace(EVENT, **{name: old + 1 if isinstance(old, int) else f"{old}x"})
    assert merkle.event_leaf(changed) != merkle.event_leaf(EVENT)
    assert merkle.event_leaf(replace(EVENT, target="", detail="m{}")) != merkle.event_leaf(EVENT)


def test_the_hash_of_a_leaf_is_not_part_of_the_leaf() -> None:
    """It is computed from the rest."""
    assert merkle.event_leaf(replace(EVENT, leaf_hash=b"x")) == merkle.event_leaf(EVENT)
