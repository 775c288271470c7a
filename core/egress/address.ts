import { BlockList, isIP } from 'node:net'

/**
 * Non-public IPv4 ranges: the IANA special-purpose registry (RFC 6890 and updates), multicast, and
 * Azure's wire server, which has a public address but serves secrets of the machine.
 */
const IPV4_SPECIAL = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relay
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
  '168.63.129.16/32', // Azure wire server
]

/** The IPv6 range assigned to the public internet (RFC 4291). */
const IPV6_GLOBAL = '2000::/3'

/** Parts of it that are not public or embed an IPv4 address chosen by the sender. */
const IPV6_SPECIAL = [
  '2001::/23', // protocol assignments, with Teredo (2001::/32), ORCHID and benchmarks
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

function listOf(family: 'ipv4' | 'ipv6', prefixes: readonly string[]): BlockList {
  const list = new BlockList()
  for (const prefix of prefixes) {
    const [network = '', bits] = prefix.split('/')
    list.addSubnet(network, Number(bits), family)
  }
  return list
}

const special4 = listOf('ipv4', IPV4_SPECIAL)
const special6 = listOf('ipv6', IPV6_SPECIAL)
const global6 = listOf('ipv6', [IPV6_GLOBAL])

/**
 * Returns true if `ip` is an address of the public internet. IPv6 uses an allow-list: mapped,
 * compatible and NAT64 forms are outside 2000::/3, so an IPv4 address has no second spelling.
 * Text that is not an address, or has a zone, is not public.
 */
export function isPublicAddress(ip: string): boolean {
  const family = isIP(ip)
  if (family === 4) return !special4.check(ip, 'ipv4')
  if (family !== 6 || ip.includes('%')) return false
  return global6.check(ip, 'ipv6') && !special6.check(ip, 'ipv6')
}
