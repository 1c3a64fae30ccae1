"""Config maps and secrets that a pod refers to, and what a kubelet says when one, or a key of it, is not there.

A volume that cannot be made keeps all containers back; a variable that cannot be set keeps its container back
(`CreateContainerConfigError`). What is optional is not missed. The volume with a pod's token is not looked at.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from doorman.api.views.core import ConfigMap, Secret
from doorman.api.views.pods import (
    ConfigMapVolumeSource,
    Container,
    KeySelector,
    KeyToPath,
    Pod,
    SecretProjection,
    Volume,
    VolumeProjection,
)
from doorman.client.informer_cache import ListerOf


class _Words(NamedTuple):
    resource: str
    kind: str
    missing_key: str


_CONFIG_MAP: Final = _Words("configmap", "ConfigMap", "configmap references non-existent config key")
_SECRET: Final = _Words("secret", "Secret", "references non-existent secret key")


class PodConfiguration:
    def __init__(self, config_maps: ListerOf[ConfigMap], secrets: ListerOf[Secret]) -> None:
        self._config_maps = config_maps
        self._secrets = secrets

    def volume_fault(self, pod: Pod, volume: Volume) -> str:
        """Why the volume cannot be made of what it names; empty when it can."""
        if volume.config_map is not None:
            faults = [self._config_map_fault(pod, volume.config_map)]
        elif volume.secret is not None:
            secret = volume.secret
            faults = [self._secret_fault(pod, secret.secret_name, secret.items, optional=secret.optional)]
        elif volume.projected is not None:
            faults = [self._projection_fault(pod, source) for source in volume.projected.sources]
        else:
            return ""
        found = [fault for fault in faults if fault]
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""

    def container_faults(self, pod: Pod) -> dict[str, str]:
        """By container: why it cannot be made. One of an init container keeps all that come after it back."""
        for container in pod.spec.init_containers:
            fault = self._container_fault(pod, container)
            if fault:
                return {container.name: fault}
        found = {container.name: self._container_fault(pod, container) for container in pod.spec.containers}
        return {name: fault for name, fault in found.items() if fault}

    def _container_fault(self, pod: Pod, container: Container) -> str:
        if not container.env and not container.env_from:
            return ""
        return next(filter(None, (*self._env_from_faults(pod, container), *self._env_faults(pod, container))), "")

    def _env_from_faults(self, pod: Pod, container: Container) -> Iterator[str]:
        for source in container.env_from:
            if source.config_map_ref is not None:
                found = self._config_map_keys(pod, source.config_map_ref.name)
                yield _absence(_CONFIG_MAP, source.config_map_ref.name, found, optional=source.config_map_ref.optional)
            if source.secret_ref is not None:
                found = self._secret_keys(pod, source.secret_ref.name)
                yield _absence(_SECRET, source.secret_ref.name, found, optional=source.secret_ref.optional)

    def _env_faults(self, pod: Pod, container: Container) -> Iterator[str]:
        for variable in container.env:
            if variable.value_from is None:
                continue
            of_map, of_secret = variable.value_from.config_map_key_ref, variable.value_from.secret_key_ref
            if of_map is not None:
                yield _key_fault(pod, _CONFIG_MAP, of_map, self._config_map_keys(pod, of_map.name, binary=False))
            if of_secret is not None:
                yield _key_fault(pod, _SECRET, of_secret, self._secret_keys(pod, of_secret.name))

    def _projection_fault(self, pod: Pod, source: VolumeProjection) -> str:
        if source.config_map is not None:
            return self._config_map_fault(pod, source.config_map)
        secret: SecretProjection | None = source.secret
        return self._secret_fault(pod, secret.name, secret.items, optional=secret.optional) if secret else ""

    def _config_map_fault(self, pod: Pod, source: ConfigMapVolumeSource) -> str:
        keys = self._config_map_keys(pod, source.name)
        return _items_fault(_CONFIG_MAP, source.name, source.items, keys, optional=source.optional)

    def _secret_fault(self, pod: Pod, name: str, items: Iterable[KeyToPath], *, optional: bool) -> str:
        return _items_fault(_SECRET, name, items, self._secret_keys(pod, name), optional=optional)

    def _config_map_keys(self, pod: Pod, name: str, *, binary: bool = True) -> frozenset[str] | None:
        found = self._config_maps.get(f"{pod.metadata.namespace}/{name}")
        if found is None:
            return None
        return frozenset((*found.data, *found.binary_data) if binary else found.data)

    def _secret_keys(self, pod: Pod, name: str) -> frozenset[str] | None:
        found = self._secrets.get(f"{pod.metadata.namespace}/{name}")
        return frozenset(found.data) if found is not None else None


def _absence(words: _Words, name: str, keys: frozenset[str] | None, *, optional: bool) -> str:
    return f'{words.resource} "{name}" not found' if keys is None and not optional else ""


def _items_fault(
    words: _Words, name: str, items: Iterable[KeyToPath], keys: frozenset[str] | None, *, optional: bool
) -> str:
    if keys is None or optional:
        return _absence(words, name, keys, optional=optional)
    return next((f"{words.missing_key}: {item.key}" for item in items if item.key not in keys), "")


def _key_fault(pod: Pod, words: _Words, wanted: KeySelector, keys: frozenset[str] | None) -> str:
    if keys is None or wanted.optional or wanted.key in keys:
        return _absence(words, wanted.name, keys, optional=wanted.optional)
    return f"couldn't find key {wanted.key} in {words.kind} {pod.metadata.namespace}/{wanted.name}"
