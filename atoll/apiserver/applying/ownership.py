"""Who owns which fields: the entries of metadata.managedFields.

In: entries as stored, or as a client sent them. Out: entries as kube-apiserver stores them. Entries
are kept as the JSON they are; `Managers` holds them by owner while a write is worked out. Stored
entries are trusted to be in our own form, sent ones are read with care.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from atoll.apiserver.applying.elements import written
from atoll.apiserver.applying.fieldset import BadFields, FieldSet, read, union_of
from atoll.wire import Wire

Entry = dict[str, Any]

UPDATE_OWNERS_MAX = 10


class Owner(NamedTuple):
    """What tells one entry from another. Those who apply are the same in every version."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    def sort_key(self) -> str:
        """How kube-apiserver names the owner internally, and breaks ties."""
        parts = {"manager": self.manager, "operation": self.operation}
        if self.api_version:
            parts["apiVersion"] = self.api_version
        if self.subresource:
            parts["subresource"] = self.subresource
        inner = ",".join(f'"{key}":{written(value)}' for key, value in parts.items() if value)
        return f"{{{inner}}}"


class BadEntries(Exception):
    """What a client sent as managedFields cannot be read."""


def owner_of(entry: Entry) -> Owner:
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return Owner(entry.get("manager", ""), operation, version, entry.get("subresource", ""))


@dataclass(slots=True)
class Managers:
    """All entries of one object, by owner."""

    entries: dict[Owner, Entry] = field(default_factory=dict)

    def fields(self, owner: Owner) -> FieldSet:
        entry = self.entries.get(owner)
        return {} if entry is None else entry["fieldsV1"]

    def put(self, owner: Owner, api_version: str, fields: FieldSet, time: str | None) -> None:
        """Sets what an owner owns; nothing at all removes the entry."""
        if not fields:
            self.entries.pop(owner, None)
            return
        entry: Entry = {}
        if owner.manager:
            entry["manager"] = owner.manager
        entry["operation"] = owner.operation
        entry["apiVersion"] = api_version
        if time is not None:
            entry["time"] = time
        entry["fieldsType"] = "FieldsV1"
        entry["fieldsV1"] = fields
        if owner.subresource:
            entry["subresource"] = owner.subresource
        self.entries[owner] = entry

    def reduce(self, owner: Owner, fields: FieldSet) -> None:
        """Leaves an owner with these of its fields, and its time as it was."""
        entry = self.entries[owner]
        if not fields:
            del self.entries[owner]
        elif fields is not entry["fieldsV1"]:
            self.entries[owner] = {**entry, "fieldsV1": fields}

    def time(self, owner: Owner) -> str | None:
        entry = self.entries.get(owner)
        return None if entry is None else entry.get("time")


def stored(obj: Wire | None) -> Managers:
    """The entries of an object that we stored."""
    entries = _listed(obj)
    return Managers({owner_of(entry): entry for entry in entries or ()})


def _listed(obj: Wire | None) -> list[Entry] | None:
    if obj is None:
        return None
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def is_reset(obj: Wire, *, typed: bool) -> bool:
    """Whether a client asks to forget all owners: by one empty entry or, if typed, by none."""
    entries = _listed(obj)
    return entries == [{}] or (typed and entries == [])


def sent(obj: Wire, old: Wire | None) -> Managers:
    """The entries to start from: the client's if it sent any that can be read, else the old."""
    entries = _listed(obj)
    if not entries or entries == _listed(old):
        return stored(old)
    try:
        return _read(entries)
    except (BadEntries, BadFields):
        return stored(old)


def _read(entries: Any) -> Managers:
    if not isinstance(entries, list):
        raise BadEntries(entries)
    managers = Managers()
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("fieldsType") != "FieldsV1":
            raise BadEntries(entry)
        if entry.get("operation") not in ("Apply", "Update") or not entry.get("apiVersion"):
            raise BadEntries(entry)
        for key in ("manager", "apiVersion", "subresource"):
            if not isinstance(entry.get(key, ""), str):
                raise BadEntries(entry)
        fields = read(entry.get("fieldsV1") or {})
        owner = owner_of(entry)
        managers.put(owner, entry["apiVersion"], fields, _time(entry.get("time")))
        if not fields:  # it owns nothing, yet it counts as an entry that was sent
            managers.entries[owner] = {**entry, "fieldsV1": {}}
    return managers


def _time(value: Any) -> str | None:
    """A timestamp in whole seconds of UTC."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadEntries(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise BadEntries(value) from None
    if moment.tzinfo is None:
        raise BadEntries(value)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cap_updates(managers: Managers) -> None:
    """Merges the oldest entries of updates, in place, until there are no more than ten."""
    updates = [owner for owner in managers.entries if owner.operation == "Update"]
    if len(updates) <= UPDATE_OWNERS_MAX:
        return
    updates.sort(key=lambda owner: (managers.time(owner) or "", owner.sort_key()))
    left = len(updates)
    first: dict[str, Owner] = {}
    merged: dict[Owner, list[FieldSet]] = {}
    times: dict[Owner, str | None] = {}
    for owner in updates:
        if left <= UPDATE_OWNERS_MAX:
            break
        version = managers.entries[owner]["apiVersion"]
        oldest = first.setdefault(version, owner)
        if oldest is owner:
            continue
        bucket = Owner("ancient-changes", "Update", version, "")
        if bucket not in merged:
            kept = managers.fields(bucket)
            if bucket not in managers.entries:
                kept = managers.entries.pop(oldest)["fieldsV1"]
            merged[bucket] = [kept]
        if owner == bucket:
            times.setdefault(bucket, managers.time(owner))
        else:
            times[bucket] = managers.time(owner)
            merged[bucket].append(managers.entries.pop(owner)["fieldsV1"])
        left -= 1
    for bucket, sets in merged.items():
        managers.put(bucket, bucket.api_version, union_of(sets), times[bucket])


def with_entries(obj: Wire, managers: Managers) -> Wire:
    """The object with these entries, in kube-apiserver's order."""
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k != "managedFields"}
    if managers.entries:
        entries = managers.entries.values()
        metadata["managedFields"] = sorted(entries, key=_place) if len(entries) > 1 else [*entries]
    return {**obj, "metadata": metadata}


def _place(entry: Entry) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )
