import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isInstalled } from '../../support/skip.ts'

/** Installed once; each test has a copy. */
const BASE = join(homedir(), '.cache/agenthub/debian-bookworm')
export const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/** Reason why this machine cannot make an empty Debian; undefined: it can. */
export function whyNoMachine(...programs: readonly string[]): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root'
  const missing = ['debootstrap', 'unshare', ...programs].filter((name) => !isInstalled(name))
  return missing.length > 0 ? `needs Debian's ${missing.join(', ')}` : undefined
}

/** Folder of a minimal Debian 12, made by debootstrap on first use. */
export function debianBase(): string {
  if (existsSync(BASE)) return BASE
  const part = `${BASE}.part`
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { recursive: true })
  run('debootstrap', '--variant=minbase', '--include=ca-certificates', 'bookworm', part)
  renameSync(part, BASE)
  return BASE
}

/** Empty Debian 12 in a folder, whose programs end with each script. */
export class Machine {
  readonly root: string

  constructor() {
    this.root = mkdtempSync(join(tmpdir(), 'agenthub-test-machine-'))
    run('cp', '-a', `${debianBase()}/.`, this.root)
    // Certificates of this machine, which a registry in between may need; services start later.
    cpSync(CERTIFICATES, join(this.root, CERTIFICATES))
    cpSync('/etc/resolv.conf', join(this.root, 'etc/resolv.conf'))
    this.write('usr/sbin/policy-rc.d', '#!/bin/sh\nexit 101\n')
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.root, path), text, { mode: 0o755 })
  }

  /** Runs a script with bash in a process namespace, and unless `online`, without a network. */
  run(script: string, { online = false } = {}): SpawnSyncReturns<string> {
    this.write(
      'root/script',
      `set -eu -o pipefail\n${online ? '' : 'ip link set lo up\n'}${script}`,
    )
    const net = online ? [] : ['--net']
    const flags = ['--mount', '--pid', '--fork', '--kill-child', '--ipc', '--uts', ...net]
    const args = [...flags, `--root=${this.root}`, '--wd=/root', '--mount-proc', 'bash', 'script']
    return spawnSync('unshare', args, { encoding: 'utf8', env: ENVIRONMENT, maxBuffer: 1 << 26 })
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** Variables with which npm trusts these certificates. */
export const CERTIFICATE_ENVIRONMENT = {
  npm_config_cafile: CERTIFICATES,
  NODE_EXTRA_CA_CERTS: CERTIFICATES,
}

const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  LC_ALL: 'C.UTF-8',
  DEBIAN_FRONTEND: 'noninteractive',
  ...CERTIFICATE_ENVIRONMENT,
}

export function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr.slice(-4_000)}`)
  return stdout
}
