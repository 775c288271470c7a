import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { freePort } from '../../../core/runtime/net.ts'
import { eventually } from '../../support/eventually.ts'

export const NAME = 'hub.example.org'
const PATH = '/usr/sbin:/usr/bin:/sbin:/bin'

/** Reverse proxy with TLS, with its configuration of the kit, before two hubs. */
export interface ReverseProxy {
  readonly port: number
  readonly plainPort: number
  /** Certificate that a client trusts (PEM). */
  readonly certificate: string
  stop(): Promise<void>
}

/** @param hubs ports of the hubs */
export type StartProxy = (hubs: readonly [number, number]) => Promise<ReverseProxy>

/** Starts nginx with `nginx.conf`, whose ports and paths are those of this test. */
export const startNginx: StartProxy = async (hubs) => {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-test-'))
  chmodSync(folder, 0o755)
  const at = (name: string): string => join(folder, name)
  const certificate = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
  const subject = ['-nodes', '-days', '2', '-subj', `/CN=${NAME}`]
  const names = ['-addext', `subjectAltName=DNS:${NAME}`]
  const files = ['-keyout', at('privkey.pem'), '-out', at('fullchain.pem')]
  execFileSync('openssl', [...certificate, ...subject, ...names, ...files], { stdio: 'ignore' })
  const [port, plainPort] = [await freePort(), await freePort()]
  const site = readFileSync('server/deploy/nginx.conf', 'utf8')
    .replaceAll('8402', String(hubs[0]))
    .replaceAll('8403', String(hubs[1]))
    .replaceAll(/listen (\[::\]:)?80;/g, `listen $1${plainPort};`)
    .replaceAll(/listen (\[::\]:)?443 /g, `listen $1${port} `)
    .replaceAll(`/etc/letsencrypt/live/${NAME}`, folder)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${at(name)};`,
  )
  const http = `access_log off; ${temporary.join(' ')} ${site}`
  const settings = `daemon off; pid ${at('pid')}; error_log ${at('log')}; events {}`
  writeFileSync(at('nginx.conf'), `${settings}\nhttp { ${http} }`)
  const child = spawn('nginx', ['-p', folder, '-c', at('nginx.conf')], { env: { PATH } })
  return serve(child, folder, { port, plainPort, trusted: at('fullchain.pem') })
}

/** Starts Caddy with `Caddyfile`, with a certificate of its own. */
export const startCaddy: StartProxy = async (hubs) => {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-test-'))
  const at = (name: string): string => join(folder, name)
  const [port, plainPort] = [await freePort(), await freePort()]
  const own = 'admin off\nlocal_certs\nskip_install_trust'
  const settings = `{\n${own}\nhttp_port ${plainPort}\nhttps_port ${port}\n}\n`
  writeFileSync(at('Caddyfile'), settings + readFileSync('server/deploy/Caddyfile', 'utf8'))
  mkdirSync(at('data'))
  const env = {
    PATH,
    HOME: folder,
    XDG_DATA_HOME: at('data'),
    XDG_CONFIG_HOME: at('data'),
    HUB_DOMAIN: NAME,
    HUB_UPSTREAMS: hubs.map((hub) => `127.0.0.1:${hub}`).join(' '),
  }
  const args = ['run', '--adapter', 'caddyfile', '--config', at('Caddyfile')]
  const trusted = at('data/caddy/pki/authorities/local/root.crt')
  return serve(spawn('caddy', args, { env }), folder, { port, plainPort, trusted })
}

/** Waits until a proxy accepts TLS connections. */
async function serve(
  child: ChildProcess,
  folder: string,
  { trusted, ...ports }: { readonly port: number; plainPort: number; trusted: string },
): Promise<ReverseProxy> {
  const ended = once(child, 'exit')
  let output = ''
  child.stderr!.on('data', (text: Buffer) => (output += text))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(output)
      return acceptsTls(ports.port)
    }, 20_000)
  } catch (error) {
    await stop()
    throw new Error(`the proxy did not start: ${output.slice(-2_000)}`, { cause: error })
  }
  return { ...ports, certificate: readFileSync(trusted, 'utf8'), stop }
}

const acceptsTls = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, servername: NAME, rejectUnauthorized: false }
    const socket = connect(options, () => resolve(true)).on('error', () => resolve(false))
    socket.on('secureConnect', () => socket.destroy())
  })
