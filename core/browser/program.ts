import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { access, chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { createBrotliDecompress } from 'node:zlib'

/** Executable of a browser. */
export interface Program {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
}

/** Paths used by packages and installers. Snaps are excluded: their pipes are blocked. */
const SYSTEM = [
  '/usr/bin/chrome-headless-shell',
  '/usr/bin/google-chrome-stable',
  '/opt/google/chrome/chrome',
  '/usr/lib/chromium/chromium',
  '/usr/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Finds the Chrome or Chromium of this machine. @throws Error if there is none */
export async function systemProgram(): Promise<Program> {
  for (const path of SYSTEM) {
    if (await exists(path)) return { path, env: {} }
  }
  throw new Error('No browser was found: install Chrome, or set HUB_CHROME_PATH.')
}

/** Loader of programs for Linux x64 with the GNU C library. */
const LOADER = '/lib64/ld-linux-x86-64.so.2'

/**
 * Returns the Chromium of the npm package, which includes libraries and fonts. Unpacks it below
 * `home` on first use, which takes seconds and 210 MB. Undefined on unsupported platforms, and if
 * the package was not installed (`--omit=optional`).
 */
export async function bundledProgram(home: string): Promise<Program | undefined> {
  if (process.arch !== 'x64' || !(await exists(LOADER))) return undefined
  const root = packageRoot()
  if (root === undefined) return undefined
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const folder = join(home, `chromium-${version}`)
  if (!(await exists(folder))) await unpack(join(root, 'bin'), folder)
  return {
    path: join(folder, 'chromium'),
    env: {
      LD_LIBRARY_PATH: join(folder, 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
  }
}

function packageRoot(): string | undefined {
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))))
  } catch {
    return undefined
  }
}

/** Unpacks under a temporary name, so that an interrupted copy is never used. */
async function unpack(bin: string, folder: string): Promise<void> {
  const part = join(dirname(folder), `.${basename(folder)}-${randomUUID()}`)
  await mkdir(part, { recursive: true, mode: 0o755 })
  try {
    const program = createWriteStream(join(part, 'chromium'), { mode: 0o755 })
    await Promise.all([
      pipeline(createReadStream(join(bin, 'chromium.br')), createBrotliDecompress(), program),
      untar(join(bin, 'al2023.tar.br'), part),
      untar(join(bin, 'fonts.tar.br'), part),
    ])
    await writeFile(join(part, 'fonts.conf'), fontsOf(folder), { mode: 0o644 })
    await chmod(join(part, 'chromium'), 0o755) // whatever the umask was
    await rename(part, folder)
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    if (!(await exists(folder))) throw error // else another process has unpacked it
  }
}

async function untar(archive: string, folder: string): Promise<void> {
  const { extract } = await import('tar-stream')
  const entries = extract()
  const read = pipeline(createReadStream(archive), createBrotliDecompress(), entries)
  for await (const entry of entries) {
    const path = join(folder, join('/', entry.header.name)) // stays below `folder`
    if (entry.header.type === 'file') {
      await mkdir(dirname(path), { recursive: true, mode: 0o755 })
      await pipeline(entry, createWriteStream(path, { mode: 0o644 }))
    } else {
      entry.resume()
    }
  }
  await read
}

const fontsOf = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
