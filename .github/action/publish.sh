#!/usr/bin/env bash
# publish.sh VERSION FOLDER: adds a commit with the SHA-256 of the folder's binaries to the source commit that is checked
# out, tags that commit, and publishes the binaries as the release. The branch is left where it is.
#
# The binaries are there before the tag is: they wait in a draft, which nobody sees. When this fails before the tag, it can be
# run again.
set -euo pipefail

if (($# < 2)); then
    echo "usage: publish.sh VERSION FOLDER" >&2
    exit 2
fi
version=$1
folder=$2
tag="v$version"
file=.github/action/checksums.txt

[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || { echo "'$version' is no version" >&2; exit 2; }
grep -qx "version = \"$version\"" Cargo.toml || { echo "Cargo.toml has another version than $version" >&2; exit 2; }
! grep -q '^[0-9a-f]' "$file" || { echo "$file has sums already: is this a tagged commit?" >&2; exit 2; }

platforms=(linux-x86_64 linux-aarch64 macos-aarch64 macos-x86_64)
for platform in "${platforms[@]}"; do
    [[ -f $folder/phasegate-$platform ]] || { echo "$folder/phasegate-$platform is missing" >&2; exit 2; }
done
# In the commit alone, so that this can be run again in the same checkout.
with_sums=$(
    cat "$file"
    for platform in "${platforms[@]}"; do
        sum=$(sha256sum "$folder/phasegate-$platform")
        echo "${sum%% *}  $tag/phasegate-$platform"
    done
)
if [[ ${3:-} == --only-checksums ]]; then
    echo "$with_sums" >"$file"
    exit 0
fi

repository="repos/$GITHUB_REPOSITORY"
if gh api "$repository/git/ref/tags/$tag" --silent 2>/dev/null; then
    echo "$tag is there already. If its release is still a draft, publish that: gh release edit $tag --draft=false" >&2
    exit 2
fi
source=$(git rev-parse HEAD)
blob=$(gh api "$repository/git/blobs" -f encoding=base64 -f content="$(echo "$with_sums" | base64 -w0)" --jq .sha)
tree=$(gh api "$repository/git/trees" -f base_tree="$source" -f "tree[][path]=$file" -f "tree[][mode]=100644" \
    -f "tree[][type]=blob" -f "tree[][sha]=$blob" --jq .sha)
commit=$(gh api "$repository/git/commits" -f message="release: the checksums of $tag" -f tree="$tree" \
    -f "parents[]=$source" --jq .sha)
gh api "$repository/releases" --paginate --jq ".[] | select(.draft and .tag_name == \"$tag\").id" |
    while read -r old; do gh api --method DELETE "$repository/releases/$old"; done
gh release create "$tag" "$folder"/phasegate-* --draft --title "$tag" \
    --notes "Name this commit in your workflows: \`phasegate/phasegate@$commit # $tag\`"
gh api "$repository/git/refs" -f ref="refs/tags/$tag" -f sha="$commit" --jq .ref
gh release edit "$tag" --draft=false --verify-tag
