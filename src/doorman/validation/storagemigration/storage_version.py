"""StorageVersions: in which version each server stores a resource, which the name tells."""

from typing import Final

from doorman.semantics.name_syntax import dns_1035_faults, subdomain_faults
from doorman.validation.metadata import metadata_validator


def storage_version_name_faults(name: str) -> list[str]:
    """
    >>> storage_version_name_faults("apps.deployments"), storage_version_name_faults("deployments")
    ([], ['name must be in the form of <group>.<resource>'])
    """
    group, dot, resource = name.rpartition(".")
    if not dot:
        return ["name must be in the form of <group>.<resource>"]
    return [
        *(f"the group segment {fault}" for fault in subdomain_faults(group)),
        *(f"the resource segment {fault}" for fault in dns_1035_faults(resource)),
    ]


STORAGE_VERSION: Final = metadata_validator(storage_version_name_faults)
