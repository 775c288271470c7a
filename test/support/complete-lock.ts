import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Adds packages of other platforms to the lock files: npm omits them if the registry in use
 * lacks them, and `npm ci` rejects such a lock file. Run `npm run lock` after each change of a
 * dependency.
 */
interface Entry {
  readonly version?: string
  readonly dev?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Lock {
  packages: Record<string, Entry>
}

const FILES = ['../../package-lock.json', '../clients/package-lock.json']
const OS = ['darwin', 'win32', 'linux', 'android', 'freebsd', 'openharmony'] as const
const CPU: readonly (readonly [part: string, cpu: string])[] = [
  ['arm64', 'arm64'],
  ['amd64', 'x64'],
  ['x64', 'x64'],
  ['ia32', 'ia32'],
  ['ppc64', 'ppc64'],
  ['riscv64', 'riscv64'],
  ['s390x', 's390x'],
  ['wasm32', 'wasm32'],
  ['arm', 'arm'],
]

/** Platform in the name of a native package: `cli-linux-x64-musl`. */
function platformOf(name: string) {
  const parts = name.split('/').at(-1)!.replace('windows', 'win32')
  const os = OS.find((each) => parts.split('-').includes(each))
  const cpu = CPU.find(([part]) => parts.includes(part))?.[1]
  const libc = parts.includes('musl') ? 'musl' : parts.includes('gnu') ? 'glibc' : undefined
  return {
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(os === 'linux' && libc !== undefined ? { libc: [libc] } : {}),
    optional: true,
    ...(os === undefined ? {} : { os: [os] }),
  }
}

function complete(file: URL): void {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock
  const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies, dev }]) =>
    Object.entries(optionalDependencies ?? {})
      .filter(([name]) => !(`node_modules/${name}` in lock.packages))
      .filter(([name]) => !(`${path}/node_modules/${name}` in lock.packages))
      .map(([name, version]): [string, Entry] => [
        `node_modules/${name}`,
        {
          version: version.replace(/^[\^~]/, ''),
          ...(dev === true ? { dev } : {}),
          ...platformOf(name),
        },
      ]),
  )
  const sorted = Object.entries({ ...lock.packages, ...Object.fromEntries(missing) }).toSorted(
    ([a], [b]) => (a < b ? -1 : 1),
  )
  const packages = Object.fromEntries(sorted)
  writeFileSync(file, `${JSON.stringify({ ...lock, packages }, null, 2)}\n`)
  process.stdout.write(`${missing.length} packages of other platforms added\n`)
}

for (const file of FILES) complete(new URL(file, import.meta.url))
