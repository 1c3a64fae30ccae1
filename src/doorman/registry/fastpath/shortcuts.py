"""The one place that decides whether a write may go without the long way through admission.

A write of which admission has nothing to say, whatever is written, skips it: what components report of a pod's status,
a binding, an allocation, the mark of a deletion, the renewal of a lease. Another sort of shortcut, what became of a new
object that was the same but for its name, is the create cache's. Switched off, every write goes the long way; a law in
`tests/property` holds both to the same outcome.
"""

from doorman.admission.chain import Chain
from doorman.admission.plugin_contract import RequestPreview
from doorman.admission.webhooks.webhook_dispatch import Webhooks
from doorman.api.kinds import Kind
from doorman.registry.admission.admission_reader import AdmissionReader


class Shortcuts:
    def __init__(
        self,
        admission: Chain,
        webhooks: Webhooks,
        cluster: AdmissionReader,
        *,
        is_on: bool = True,
    ) -> None:
        self._admission = admission
        self._webhooks = webhooks
        self._cluster = cluster
        self._is_on = is_on

    def may_skip_admission(self, kind: Kind, preview: RequestPreview) -> bool:
        """Whether admission has nothing to say to such a write, whatever is written."""
        return (
            self._is_on
            and self._admission.is_idle(kind.group_resource, preview, self._cluster)
            and self._webhooks.is_idle(self._cluster)
        )
