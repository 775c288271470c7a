/** Returns the IPv4 /24 or IPv6 /64 prefix of an address: usually controlled by one party. */
export function networkPrefix(ip: string): string {
  const v4 = /(?<![\d.])(\d+\.\d+\.\d+)\.\d+$/.exec(ip)?.[1]
  if (v4 !== undefined) return v4
  const [head = '', tail] = ip.split('::')
  const left = head.split(':')
  const right = tail === undefined ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  return [...left, ...(tail === undefined ? [] : zeros), ...right].slice(0, 4).join(':')
}

/** Returns the IPv6 /48 prefix of an address: many networks of one party; undefined for IPv4. */
export function sitePrefix(ip: string): string | undefined {
  const network = networkPrefix(ip)
  return network.includes(':') ? network.split(':').slice(0, 3).join(':') : undefined
}
