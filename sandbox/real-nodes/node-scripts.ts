// The shell scripts that enter, make and connect a node. Each gets its values as arguments, never as text. Pure.

/**
 * `sh -c JOIN sh CGROUP_FILES… -- PROGRAM…`: puts itself into the cgroups and becomes the program.
 */
export const JOIN = `set -e
while [ "$1" != -- ]; do echo $$ > "$1"; shift; done
shift
exec "$@"`;

/**
 * The first process of a node, in namespaces of its own: it prepares the mounts, says so in the file \`ready\`, and
 * reaps. Kubelet writes kernel settings of the whole machine: it finds those that it wants in files of the node's.
 * Arguments: name, folder, version of cgroups, and the options of each hierarchy of version 1.
 */
export const INIT = `set -e
name=$1 directory=$2 version=$3
shift 3
hostname "$name"
mount -t sysfs sysfs /sys
if [ "$version" = 2 ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  mkdir -p /sys/fs/cgroup/init
  echo 1 > /sys/fs/cgroup/init/cgroup.procs
  for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" > /sys/fs/cgroup/cgroup.subtree_control
  done
else
  mount -t tmpfs -o mode=755 cgroups /sys/fs/cgroup
  for options in "$@"; do
    folder=/sys/fs/cgroup/\${options#*name=}
    mkdir "$folder"
    mount -t cgroup -o "$options" cgroup "$folder"
  done
fi
mount -t tmpfs -o mode=755 run /run
mkdir -p "$directory/lib" "$directory/log"
mount --bind "$directory/lib" /var/lib
mount --bind "$directory/log" /var/log
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  [ -e "/proc/sys/\${setting%=*}" ] || continue
  file=/run/$(echo "\${setting%=*}" | tr / -)
  echo "\${setting#*=}" > "$file"
  mount --bind "$file" "/proc/sys/\${setting%=*}"
done
mount --make-rshared /
echo 1 > /proc/sys/net/ipv4/ip_forward
[ ! -e /proc/sys/net/ipv6 ] || echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
: > "$directory/ready"
trap 'exit 0' TERM
while :; do sleep 3600 & wait $! || :; done`;

/** The process that holds the network of a cluster: a bridge, which goes when the process ends. Argument: a file. */
export const SWITCH = `set -e
ip link set lo up
ip link add bridge type bridge
ip link set bridge up
: > "$1"
trap 'exit 0' TERM
while :; do sleep 3600 & wait $! || :; done`;
