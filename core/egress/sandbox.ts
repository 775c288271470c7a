/** Test hosts of a sandbox: name → port of 127.0.0.1. */
export type SandboxHosts = ReadonlyMap<string, number>

/** Address of every sandbox host. */
export const SANDBOX_ADDRESS = '127.0.0.1'

const ENTRY = /^((?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]*)=127\.0\.0\.1:(\d{1,5})$/

/** Parses `HUB_SANDBOX_HOSTS`: `seller.test=127.0.0.1:4701,…`. @throws TypeError */
export function parseSandboxHosts(text: string): SandboxHosts {
  const hosts = new Map<string, number>()
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue
    const [, name = '', port = ''] = ENTRY.exec(entry) ?? []
    if (!(Number(port) > 0 && Number(port) < 65_536)) {
      throw new TypeError(`not of the form name.test=127.0.0.1:port: ${entry}`)
    }
    hosts.set(name, Number(port))
  }
  return hosts
}
