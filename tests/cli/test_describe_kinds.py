"""`doorman describe` of every kind that kubectl describes in a shape of its own, beside kubectl's."""

import base64
import re
from collections.abc import Iterator

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.server import Server

OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {team: a}, annotations: {note: x}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: compute, namespace: team}
spec: {hard: {pods: "10", requests.cpu: "4", requests.memory: 4Gi, count/configmaps: "5"}, scopes: [NotTerminating]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: all, namespace: team}
spec: {hard: {requests.storage: 10Gi, services: "5"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: team}
spec:
  limits:
  - {type: Container, max: {cpu: "2"}, min: {cpu: 50m}, default: {cpu: "1"}, defaultRequest: {cpu: 100m}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: whole, namespace: team}
spec: {limits: [{type: Pod, max: {memory: 1Gi}, maxLimitRequestRatio: {memory: "2"}}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: empty}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, labels: {a: b}}
imagePullSecrets: [{name: one}, {name: two}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {note: x}}
data: {plain: value, file: "a: 1\\nb: 2\\n", empty: ""}
binaryData: {bytes: AAECAw==}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: nothing}
---
apiVersion: v1
kind: Secret
metadata: {name: password, labels: {a: b}}
stringData: {user: root, password: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: token, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
---
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: 1
  selector: {app: old}
  template: {metadata: {labels: {app: old}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {a: b}}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}, matchExpressions: [{key: tier, operator: NotIn, values: [x]}]}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - {name: c, image: i, ports: [{containerPort: 80, name: web}], volumeMounts: [{name: data, mountPath: /d}]}
  volumeClaimTemplates:
  - metadata: {name: data, labels: {x: "y"}, annotations: {note: m}}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec:
  selector: {app: db}
  ports: [{name: web, port: 80, targetPort: web}, {name: dns, port: 53, protocol: UDP, targetPort: 5353}]
---
apiVersion: v1
kind: Service
metadata: {name: balanced, annotations: {note: x}}
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  sessionAffinity: ClientIP
  externalIPs: [1.2.3.4]
  loadBalancerSourceRanges: [10.0.0.0/8]
  trafficDistribution: PreferClose
  selector: {app: db}
  ports: [{port: 80, appProtocol: http}]
---
apiVersion: v1
kind: Service
metadata: {name: headless}
spec: {clusterIP: None, selector: {app: nobody}}
---
apiVersion: v1
kind: Service
metadata: {name: elsewhere}
spec: {type: ExternalName, externalName: example.com}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: by-hand, labels: {kubernetes.io/service-name: headless}}
addressType: IPv4
endpoints:
- {addresses: [10.1.1.1], conditions: {ready: true}, hostname: one, zone: z, nodeName: node-1}
- {addresses: [10.1.1.2], conditions: {ready: false}}
- {addresses: [10.1.1.3]}
- {addresses: [10.1.1.4]}
- {addresses: [10.1.1.5]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: example.com/nginx, parameters: {apiGroup: example.com, kind: Thing, name: t}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: site, annotations: {note: x}}
spec:
  ingressClassName: nginx
  defaultBackend: {service: {name: nope, port: {number: 80}}}
  tls: [{hosts: [a.example.com, b.example.com], secretName: cert}, {hosts: [c.example.com]}]
  rules:
  - host: a.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: db, port: {name: web}}}}
      - {path: /x, pathType: Exact, backend: {service: {name: db, port: {number: 80}}}}
      - {path: /r, pathType: Prefix, backend: {resource: {apiGroup: example.com, kind: Bucket, name: b}}}
  - {http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: headless, port: {number: 1}}}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: bare}
spec: {defaultBackend: {service: {name: db, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: narrow}
spec:
  podSelector: {matchLabels: {app: db}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from:
    - {podSelector: {matchLabels: {a: b}}, namespaceSelector: {}}
    - {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16, 10.2.0.0/16]}}
    - {podSelector: {matchLabels: {c: d}}}
    ports: [{port: 80}, {port: 8000, endPort: 9000, protocol: UDP}, {port: web}]
  - {}
  egress: [{to: [{namespaceSelector: {matchLabels: {team: a}}}]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {}, policyTypes: [Ingress]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, labels: {a: b}}
spec:
  completions: 3
  parallelism: 2
  completionMode: Indexed
  activeDeadlineSeconds: 600
  ttlSecondsAfterFinished: 3600
  template:
    metadata: {annotations: {doorman.dev/runs-for: 1s}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: paused}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  timeZone: Europe/Berlin
  startingDeadlineSeconds: 100
  jobTemplate:
    spec:
      activeDeadlineSeconds: 60
      template: {spec: {restartPolicy: OnFailure, containers: [{name: c, image: i}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: often}
spec:
  schedule: "* * * * *"
  suspend: false
  jobTemplate: {spec: {completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m, memory: 10Mi}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 4
  behavior:
    scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Pods, value: 1, periodSeconds: 30}]}
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Mi}}}
  - type: ContainerResource
    containerResource: {name: cpu, container: c, target: {type: Utilization, averageUtilization: 80}}
  - {type: Pods, pods: {metric: {name: hits}, target: {type: AverageValue, averageValue: "10"}}}
  - type: Object
    object:
      metric: {name: queue}
      describedObject: {apiVersion: v1, kind: Service, name: db}
      target: {type: Value, value: "5"}
  - {type: External, external: {metric: {name: far}, target: {type: AverageValue, averageValue: "3"}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: ["", apps], resources: [pods, deployments/scale], verbs: [get, list]}
- {apiGroups: [""], resources: [pods], verbs: [watch, get]}
- {apiGroups: [""], resources: [secrets], resourceNames: [a, b], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: prober, labels: {a: b}}
rules: [{nonResourceURLs: [/healthz, /metrics], verbs: [get, head]}, {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: robot, namespace: default}, {kind: User, name: ann}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "false"}}
provisioner: example.com/disk
parameters: {type: ssd, iops: "5"}
mountOptions: [noatime, ro]
reclaimPolicy: Retain
allowVolumeExpansion: true
volumeBindingMode: WaitForFirstConsumer
allowedTopologies:
- matchLabelExpressions: [{key: zone, values: [a, b]}, {key: rack, values: [r]}]
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata: {name: gold}
driverName: example.com
parameters: {iops: "9"}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: spare}
spec:
  drivers: [{name: example.com, nodeID: spare, topologyKeys: [zone, rack], allocatable: {count: 4}}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteMany, ReadWriteOnce]
  storageClassName: fast
  csi: {driver: example.com, volumeHandle: h, fsType: ext4, volumeAttributes: {a: b, c: d}}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: zone, operator: In, values: [a, b]}, {key: gpu, operator: Exists}]
      - matchExpressions: [{key: zone, operator: NotIn, values: [c]}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: share, labels: {a: b}}
spec:
  capacity: {storage: 1Ti}
  accessModes: [ReadOnlyMany]
  persistentVolumeReclaimPolicy: Recycle
  nfs: {server: nfs.example.com, path: /}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: near}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOncePod]
  storageClassName: none
  local: {path: /mnt}
  claimRef: {namespace: default, name: taken}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: DoesNotExist}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: waiting, labels: {a: b}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  resources: {requests: {storage: 1Gi}}
  dataSource: {kind: PersistentVolumeClaim, name: other}
---
apiVersion: v1
kind: Pod
metadata: {name: volumes}
spec:
  containers: [{name: c, image: i}]
  volumes:
  - {name: claim, persistentVolumeClaim: {claimName: waiting, readOnly: true}}
  - {name: nfs, nfs: {server: s, path: /p, readOnly: true}}
  - {name: csi, csi: {driver: d, volumeAttributes: {k: v}}}
  - {name: image, image: {reference: r, pullPolicy: Always}}
  - {name: fc, fc: {targetWWNs: [a, b], lun: 1}}
  - {name: ceph, cephfs: {monitors: [m, o], secretRef: {name: s}}}
  - {name: rbd, rbd: {monitors: [m], image: i}}
  - {name: flex, flexVolume: {driver: d/e, options: {o: p, a: b}}}
  - {name: disk, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
  - {name: down, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - name: scratch
    ephemeral:
      volumeClaimTemplate:
        metadata: {labels: {a: b, c: d}}
        spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lock}
spec: {holderIdentity: me, leaseDurationSeconds: 15, leaseTransitions: 0}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}
---
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: ann, labels: {a: b}}
spec:
  request: REQUEST
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
  expirationSeconds: 7200
"""


def signing_request() -> str:
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "ann"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "one"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "two"),
            x509.NameAttribute(NameOID.LOCALITY_NAME, "Berlin"),
        ]
    )
    names = x509.SubjectAlternativeName([x509.DNSName("a.example.com"), x509.DNSName("b.example.com")])
    built = x509.CertificateSigningRequestBuilder().subject_name(name).add_extension(names, critical=False)
    signed = built.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("kinds"), "--nodes", "2", "--clock=virtual") as running:
        made = running.kubectl("apply", "-f", "-", stdin=OBJECTS.replace("REQUEST", signing_request()))
        assert made.returncode == 0, made.stderr
        # To the middle of a minute: the job of this minute has ended whatever the second at which the clock began.
        seconds = int(re.match(r"\S+:(\d\d)Z", running.doorman("clock").stdout)[1])
        assert running.doorman("clock", "advance", f"{210 - seconds}s").returncode == 0
        approved = running.kubectl("certificate", "approve", "ann")
        assert approved.returncode == 0, approved.stderr
        yield running


def told(text: str) -> list[str]:
    """Where Go walks a map, the order of lines is anybody's. Of projected volumes kubectl before 1.33 said the same in
    other words.
    """
    lines = re.sub("ConfigMapOptional:       <nil>", "Optional:                false", text).splitlines()
    return sorted(lines) if re.search(r"^ ?Type +Resource +Min |^BinaryData$", text, re.MULTILINE) else lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "ns/team", "ns empty", "quota compute -n team", "quota all -n team", "limits -n team",
        "cm/settings", "cm/nothing", "secret password", "secret token", "rc/old", "svc/db",
        "svc/headless", "svc/elsewhere", "endpoints db", "endpointslices", "ingressclass", "ing/site", "ing/bare",
        "netpol narrow", "netpol closed", "job/once", "job/paused", "hpa/web", "role reader",
        "clusterrole prober", "clusterrole edit", "clusterrole system:node", "rolebinding reads",
        "clusterrolebinding cluster-admin", "sc", "csinode spare", "csinode node-1", "pv/disk", "pv/share",
        "pv/near", "pvc waiting", "pvc data-db-0", "pod/volumes", "lease/lock", "resourceclaim gpu", "csr ann",
        "ns/empty sc/fast",
    ],
)  # fmt: skip
def test_shows_what_kubectl_shows(server: Server, line: str) -> None:
    words = [*line.split(), "--show-events=false"]
    theirs, ours = server.kubectl("describe", *words), server.doorman("describe", *words)
    # kubectl tells the keys of a secret in any order.
    in_order = sorted if line.startswith("secret") else list
    assert in_order(told(ours.stdout)) == in_order(told(theirs.stdout))
    assert (ours.stderr, ours.returncode) == (theirs.stderr, theirs.returncode)
    assert ours.returncode == 0


NEWEST = {
    "sa/robot": """
Name:                robot
Namespace:           default
Labels:              a=b
Annotations:         <none>
Image pull secrets:  one
                     two
""",
    "sts/db": """
Name:                   db
Namespace:              default
CreationTimestamp:      MOMENT
Selector:               app=db,tier notin (x)
Labels:                 a=b
Annotations:            <none>
Service Name:           db
Pod Management Policy:  OrderedReady
Replicas:               2 desired | 2 total
Update Strategy:        RollingUpdate
  Partition:            0
  MaxUnavailable:       1
Persistent Volume Claim Retention Policy:
  WhenDeleted:  Delete
  WhenScaled:   Retain
Pods Status:    2 Running / 0 Waiting / 0 Succeeded / 0 Failed
Pod Template:
  Labels:  app=db
  Containers:
   c:
    Image:        i
    Port:         80/TCP (web)
    Host Port:    0/TCP (web)
    Environment:  <none>
    Mounts:
      /d from data (rw)
  Volumes:         <none>
  Node-Selectors:  <none>
  Tolerations:     <none>
Volume Claims:
  Name:          data
  StorageClass:
  Labels:        x=y
  Annotations:   note=m
  Capacity:      1Gi
  Access Modes:  [ReadWriteOnce]
""",
    "svc/balanced": """
Name:                        balanced
Namespace:                   default
Labels:                      <none>
Annotations:                 note: x
Selector:                    app=db
Type:                        LoadBalancer
IP Family Policy:            SingleStack
IP Families:                 IPv4
IP:                          ADDRESS
IPs:                         ADDRESS
External IPs:                ADDRESS
LoadBalancer Ingress:        ADDRESS (VIP)
Port:                        <unset>  80/TCP
TargetPort:                  80/TCP
AppProtocol:                 http
NodePort:                    <unset>  NODEPORT/TCP
Endpoints:                   ADDRESS:80,ADDRESS:80
Session Affinity:            ClientIP
External Traffic Policy:     Local
Internal Traffic Policy:     Cluster
HealthCheck NodePort:        NODEPORT
LoadBalancer Source Ranges:  ADDRESS/8
Traffic Distribution:        PreferClose
""",
    "cronjob/nightly": """
Name:                          nightly
Namespace:                     default
Labels:                        <none>
Annotations:                   <none>
Schedule:                      0 3 * * *
Concurrency Policy:            Allow
Suspend:                       False
Time Zone:                     Europe/Berlin
Successful Job History Limit:  3
Failed Job History Limit:      1
Starting Deadline Seconds:     100s
Selector:                      <unset>
Parallelism:                   <unset>
Completions:                   <unset>
Active Deadline Seconds:       60s
Pod Template:
  Labels:  <none>
  Containers:
   c:
    Image:           i
    Port:            <none>
    Host Port:       <none>
    Environment:     <none>
    Mounts:          <none>
  Volumes:           <none>
  Node-Selectors:    <none>
  Tolerations:       <none>
Last Schedule Time:  <unset>
Active Jobs:         <none>
""",
    "cronjob/often": """
Name:                          often
Namespace:                     default
Labels:                        <none>
Annotations:                   <none>
Schedule:                      * * * * *
Concurrency Policy:            Allow
Suspend:                       False
Time Zone:                     <unset>
Successful Job History Limit:  3
Failed Job History Limit:      1
Starting Deadline Seconds:     <unset>
Selector:                      <unset>
Parallelism:                   <unset>
Completions:                   2
Pod Template:
  Labels:  <none>
  Containers:
   c:
    Image:           i
    Port:            <none>
    Host Port:       <none>
    Environment:     <none>
    Mounts:          <none>
  Volumes:           <none>
  Node-Selectors:    <none>
  Tolerations:       <none>
Last Schedule Time:  MOMENT
Active Jobs:         <none>
""",
    "vac gold": """
Name:         gold
Annotations:  APPLIED

DriverName:  example.com
Parameters:  iops=9
""",
    "servicecidr kubernetes": """
Name:         kubernetes
Labels:       <none>
Annotations:  <none>
CIDRs:        ADDRESS/16
Status:
Conditions:
  Type   Status  LastTransitionTime               Reason  Message
  ----   ------  ------------------               ------  -------
  Ready  True    MOMENT          Kubernetes Service CIDR is ready
""",
    "ipaddress 10.96.0.1": """
Name:         ADDRESS
Labels:       ipaddress.kubernetes.io/ip-family=IPv4
              ipaddress.kubernetes.io/managed-by=ipallocator.k8s.io
Annotations:  <none>
Parent Reference:
  Group:
  Resource:   services
  Namespace:  default
  Name:       kubernetes
""",
}
"""What kubectl v1.37 says where an older one says less, without moments and addresses."""


@pytest.mark.slow
@pytest.mark.parametrize(("line", "expected"), NEWEST.items(), ids=NEWEST)
def test_shows_what_the_newest_kubectl_shows(server: Server, line: str, expected: str) -> None:
    ours = server.doorman("describe", *line.split(), "--show-events=false")
    assert still(ours.stdout).strip() == expected.strip()
    assert ours.returncode == 0


def still(text: str) -> str:
    text = re.sub(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} [+-]\d{4}", "MOMENT", text)
    text = re.sub(r"kubectl.kubernetes.io/last-applied-configuration=\S+", "APPLIED", text)
    text = re.sub(r"\b\d+\.\d+\.\d+\.\d+\b", "ADDRESS", text)
    return "\n".join(line.rstrip() for line in re.sub(r"\b3\d{4}\b", "NODEPORT", text).splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("line", ["ns/team", "secret password", "role reader", "quota all -n team", "cm/settings"])
def test_events_are_told_where_kubectl_tells_them(server: Server, line: str) -> None:
    theirs, ours = server.kubectl("describe", *line.split()), server.doorman("describe", *line.split())
    assert ("Events:" in ours.stdout) == ("Events:" in theirs.stdout)
