import { BlockList, isIP } from 'node:net'

/**
 * Network that a host belongs to, as far as its name tells without DNS. `reserved`: addresses that
 * serve the secrets of the machine (cloud metadata), or are no destination at all.
 */
export type HostScope = 'loopback' | 'private' | 'public' | 'reserved'

const RANGES: Readonly<Record<Exclude<HostScope, 'public'>, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  reserved: [
    '0.0.0.0/8',
    '::/128',
    '169.254.0.0/16', // link-local: metadata of AWS, Azure, Google and others
    'fe80::/10',
    'fd00:ec2::/32', // metadata of AWS
    '100.100.100.200/32', // metadata of Alibaba
    '168.63.129.16/32', // Azure wire server
    '192.0.0.0/24', // metadata of Oracle
    '224.0.0.0/3', // multicast, reserved
    'ff00::/8',
  ],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'],
}

const NAMES: readonly (readonly [RegExp, HostScope])[] = [
  [/^(?:.+\.)?localhost$/, 'loopback'],
  [/^(?:metadata|instance-data)(?:\..+)?$/, 'reserved'],
  [/^[^.]+$/, 'private'], // a container or a machine of the same network
  [/\.(?:internal|local|lan|intranet|home\.arpa|svc)$/, 'private'],
]

const lists = Object.entries(RANGES).map(([scope, prefixes]) => {
  const list = new BlockList()
  for (const prefix of prefixes) {
    const [network = '', bits] = prefix.split('/')
    list.addSubnet(network, Number(bits), isIP(network) === 4 ? 'ipv4' : 'ipv6')
  }
  return [scope as HostScope, list] as const
})
// Narrow ranges inside the private ones come first.
const byPrecedence = [...lists].sort(
  ([a], [b]) => Number(a === 'private') - Number(b === 'private'),
)

/** Classifies the host of a URL of any scheme. An empty host is a socket of this machine. */
export function hostScope(host: string): HostScope {
  if (host === '' || host.startsWith('/')) return 'loopback'
  // WHATWG parsing gives every spelling of an address one form, but only for http.
  const name = (URL.parse(`http://${host}`)?.hostname ?? host).replace(/^\[|\]$|\.$/g, '')
  const family = isIP(name)
  if (family === 0) return NAMES.find(([pattern]) => pattern.test(name))?.[1] ?? 'public'
  const type = family === 4 ? 'ipv4' : 'ipv6'
  return byPrecedence.find(([, list]) => list.check(name, type))?.[0] ?? 'public'
}

/** Returns true for an IP address in any spelling. */
export const isAddressHost = (host: string): boolean =>
  isIP((URL.parse(`http://${host}`)?.hostname ?? host).replace(/^\[|\]$/g, '')) !== 0
