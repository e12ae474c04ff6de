# Enter a file system as if the machine had started from it, and run one command there.
#
# Needs new mount, process and IPC namespaces (unshare makes them). The shell that reads this is process 1
# there: it stays, so that whatever the command leaves behind is collected.
#
# Not chroot: the kernel refuses user namespaces in a chroot, and bubblewrap needs them.
set -eu
system=$1 changes=$2 home=$3 user=$4 command=$5

root="$changes/root"
mkdir -p "$changes/upper" "$changes/work" "$root"
mount -t overlay overlay -o "lowerdir=$system,upperdir=$changes/upper,workdir=$changes/work" "$root"

mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mount --bind "$home" "$root/home"
for file in /etc/resolv.conf /etc/hosts; do
  touch "$root$file"
  mount --bind "$file" "$root$file"
done
cd "$root"
pivot_root . .
umount -l .
cd /

# Debian's own path: what this machine has beside it does not exist there.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
status=0
if [ "$user" = root ]; then
  HOME=/home/root
  mkdir -p "$HOME"
  export HOME
  bash -c "$command" || status=$?
else
  HOME="/home/$user"
  export HOME
  setpriv --reuid "$user" --regid "$user" --init-groups bash -c "$command" || status=$?
fi
exit "$status"
