import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CERTIFICATE_ENVIRONMENT, CERTIFICATES, debianBase, run } from './machine.ts'

const CHROOT = ['--isolation', 'chroot']
const PATH = '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Debian's npm would skip optional packages, which refuse its Node 18. */
const INSTALL_NPM = `apt-get update && apt-get install -y --no-install-recommends npm &&
npm install --global node@24`
const USER = 10_001
/** Mounts what a container has: a root that is read-only, `/data`, `/tmp`, `/dev` and `/proc`. */
const ISOLATE = `
mount --bind "$1" "$1"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount --bind "$2" "$1/data"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mount -o remount,ro,bind "$1"
root=$1
shift 2
exec chroot --userspec=${USER}:${USER} "$root" env -i "$@"
`

/** Settings of an image: https://github.com/moby/moby/blob/master/image/spec. */
interface ImageConfig {
  readonly User: string
  readonly WorkingDir: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly Healthcheck: { readonly Test: readonly string[] }
}

/** Builds images with buildah from what is committed; all is deleted by `remove`. */
export class ImageBuilder {
  readonly #folder = mkdtempSync(join(tmpdir(), 'agenthub-test-images-'))

  /** Makes the two base images that the Dockerfile names, which no registry here has. */
  constructor() {
    const base = this.buildah('from', 'scratch')
    const root = this.buildah('mount', base)
    run('cp', '-a', `${debianBase()}/.`, root)
    cpSync(CERTIFICATES, join(root, CERTIFICATES))
    const settings = Object.entries({ ...CERTIFICATE_ENVIRONMENT, PATH })
    const options = settings.flatMap(([name, value]) => ['--env', `${name}=${value}`])
    this.buildah('config', ...options, base)
    this.buildah('commit', '-q', base, 'localhost/debian')
    this.buildah('run', ...CHROOT, base, '--', 'sh', '-c', INSTALL_NPM)
    this.buildah('commit', '-q', base, 'localhost/npm')
    this.buildah('rm', base)
    mkdirSync(this.#source)
    run('sh', '-c', `git archive HEAD | tar -x -C ${this.#source}`)
  }

  get #source(): string {
    return join(this.#folder, 'source')
  }

  /** Builds a target of the Dockerfile, and returns a container of it. */
  build(target: string): Container {
    const image = `localhost/agenthub:${target}`
    const bases = ['--build-arg', 'BUILD=localhost/npm', '--build-arg', 'BASE=localhost/debian']
    const file = ['--format', 'docker', '--file', join(this.#source, 'server/deploy/Dockerfile')]
    const made = ['--target', target, '--tag', image, this.#source]
    this.buildah('build', ...CHROOT, ...bases, ...file, ...made)
    const inspected = JSON.parse(this.buildah('inspect', '--type', 'image', image))
    const root = this.buildah('mount', this.buildah('from', image))
    return new Container(root, inspected.Docker.config as ImageConfig)
  }

  buildah(...args: readonly string[]): string {
    const folders = ['--root', join(this.#folder, 'store'), '--runroot', join(this.#folder, 'run')]
    return run('buildah', ...folders, ...args).trim()
  }

  remove(): void {
    this.buildah('umount', '--all')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Runs the programs of an image as its user, on a read-only root, in this machine's network. */
export class Container {
  readonly root: string
  readonly config: ImageConfig
  readonly data = mkdtempSync(join(tmpdir(), 'agenthub-test-data-'))
  readonly #started: ChildProcess[] = []
  output = ''

  constructor(root: string, config: ImageConfig) {
    this.root = root
    this.config = config
    chownSync(this.data, USER, USER)
    chmodSync(this.data, 0o750)
  }

  /** Starts the entry point. */
  start(env: Readonly<Record<string, string>>, command: readonly string[] = this.config.Cmd): void {
    const child = spawn('unshare', this.#args(env, [...this.config.Entrypoint, ...command]))
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    }
    this.#started.push(child)
  }

  /** Runs the entry point to its end, and returns its exit code. */
  async run(env: Readonly<Record<string, string>>, command: readonly string[]): Promise<number> {
    this.start(env, command)
    const [code] = await once(this.#started.at(-1)!, 'close')
    return code
  }

  /** Exit code of the health check. */
  health(env: Readonly<Record<string, string>>): number | null {
    const [, ...command] = this.config.Healthcheck.Test
    return spawnSync('unshare', this.#args(env, command)).status
  }

  /** Id of the process that is the first one in the container. */
  get pid(): number {
    const children = `/proc/${this.#started.at(-1)!.pid}/task/${this.#started.at(-1)!.pid}/children`
    return Number(readFileSync(children, 'utf8').split(' ')[0])
  }

  /** Asks the entry point to end, and returns its exit code. */
  async stop(): Promise<number> {
    const ended = once(this.#started.at(-1)!, 'close')
    process.kill(this.pid, 'SIGTERM')
    const [code] = await ended
    return code
  }

  remove(): void {
    for (const child of this.#started) child.kill('SIGKILL')
    rmSync(this.data, { recursive: true, force: true })
  }

  #args(env: Readonly<Record<string, string>>, command: readonly string[]): string[] {
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const inside = ['sh', '-c', `cd ${this.config.WorkingDir} && exec "$@"`, 'sh', ...command]
    const isolated = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-ec', ISOLATE, 'sh']
    return [...isolated, this.root, this.data, ...this.config.Env, ...settings, ...inside]
  }
}
