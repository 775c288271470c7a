import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { PAGES } from '../../support/site/pages.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CHILD = fileURLToPath(new URL('../../support/bare-process.ts', import.meta.url))

/**
 * Container for one program: Node with its libraries, a shell, `cat`, `sleep` and the project. No
 * fonts, no libraries of Chromium, no certificates, 64 MB of shared memory.
 */
const BARE = `
set -e
umask 022
root=$1 node=$2 project=$3 modules=$4 child=$5
share() { mkdir -p "$root$1" && mount --bind "$1" "$root$1"; }
copy() { mkdir -p "$root$(dirname "$1")" && cp -L "$1" "$root$1"; }
chmod 755 "$root" && mkdir -p -m 1777 "$root/tmp"
mkdir -p "$root/proc" "$root/dev" "$root/bin" "$root/etc"
mount -t proc proc "$root/proc"
for device in null zero random urandom; do
  touch "$root/dev/$device" && mount --bind /dev/$device "$root/dev/$device"
done
mkdir -m 1777 "$root/dev/shm" && mount -t tmpfs -o size=64m,mode=1777 tmpfs "$root/dev/shm"
share "$project"; [ "$modules" = "$project/node_modules" ] || share "$modules"
for program in /bin/sh /bin/cat /bin/sleep; do copy $program; done
for library in $(ldd "$node" /bin/sh /bin/cat /bin/sleep | grep -o '/lib[^ :]*'); do
  [ -e "$root$library" ] || copy "$library"
done
echo 'root:x:0:0::/:/bin/sh' > "$root/etc/passwd"
exec chroot "$root" "$node" "$child"
`

describe('a browser in a bare container', function () {
  it('renders a page without fonts, libraries or room in /dev/shm', async function () {
    const tried = spawnSync('unshare', ['--mount', '--pid', '--fork', 'chroot', '/', 'true'])
    if (tried.status !== 0 || process.arch !== 'x64') {
      this.test!.title += ' (skipped: needs root, unshare and chroot)'
      this.skip()
    }
    const root = await mkdtemp(join(tmpdir(), 'agenthub-bare-'))
    const modules = await realpath(join(ROOT, 'node_modules'))
    const args = [root, await realpath(process.execPath), ROOT.replace(/\/$/, ''), modules, CHILD]
    const inside = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', BARE, 'bare', ...args]
    try {
      const { stdout } = await run('unshare', inside, { env: { PATH: process.env['PATH'] } })
      const { html, flags } = JSON.parse(stdout)
      const [, words] = /<p>(.*?)<\/p>/.exec(String(PAGES['/japanese']!.body))!
      expect(html).to.include(words)
      expect(flags).to.include('--disable-dev-shm-usage')
    } finally {
      await rm(root, { recursive: true, force: true }) // mounts existed in the namespace only
    }
  })
})
