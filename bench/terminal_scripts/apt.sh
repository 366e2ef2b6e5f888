# apt.sh FOLDER: let apt update, install and remove packages with its progress bar, all inside of FOLDER.
set -e
folder=$1
mkdir -p "$folder"/apt/lists/partial "$folder"/apt/cache/archives/partial "$folder"/etc/preferences.d \
    "$folder"/admin/updates "$folder"/admin/info "$folder"/root "$folder"/repo
for number in 1 2 3 4; do
    mkdir -p "$folder/deb$number/DEBIAN" "$folder/deb$number/usr/share/hello$number"
    printf 'Package: hello%s\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <n@example.invalid>\nDescription: hello\n' \
        "$number" >"$folder/deb$number/DEBIAN/control"
    package=$folder/repo/hello$number.deb
    touch "$folder/deb$number/usr/share/hello$number/file"
    dpkg-deb --root-owner-group -b "$folder/deb$number" "$package" >/dev/null
    dpkg-deb -f "$package" >>"$folder/repo/Packages"
    printf 'Filename: ./hello%s.deb\nSize: %s\nSHA256: %s\n\n' "$number" "$(stat -c %s "$package")" \
        "$(sha256sum <"$package" | cut -d' ' -f1)" >>"$folder/repo/Packages"
done
: >"$folder/admin/status"
: >"$folder/admin/available"
echo "deb [trusted=yes] file:$folder/repo ./" >"$folder/etc/sources.list"
in_folder() {
    apt-get -o Dir::State="$folder/apt" -o Dir::State::status="$folder/admin/status" -o Dir::Cache="$folder/apt/cache" \
        -o Dir::Etc="$folder/etc" -o Dir::Log="$folder/apt" -o Debug::NoLocking=1 -o APT::Sandbox::User= \
        -o Dpkg::Progress-Fancy=1 -o DPkg::Options::="--admindir=$folder/admin" \
        -o DPkg::Options::="--instdir=$folder/root" -o DPkg::Options::=--force-not-root \
        -o DPkg::Options::=--force-script-chrootless -o DPkg::Options::=--log=/dev/null "$@"
}
in_folder update
in_folder install -y hello1 hello2 hello3 hello4
in_folder remove -y hello2
