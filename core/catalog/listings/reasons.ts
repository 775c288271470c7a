/**
 * Why something is not listed, or not up: one word each, for programs, and one sentence. A row of
 * an index that is refused, a probe that fails and a listing that is not active name one of them.
 */
export const REASONS = {
  // What a source says cannot become a listing.
  not_an_object: 'The row is not a JSON object.',
  not_http: 'It is sold by something else than HTTP.',
  no_url: 'It names no URL.',
  malformed_url: 'The URL is not an absolute http or https URL of a sensible length.',
  not_https: 'The URL is not https.',
  local_host: 'The host is not a name of the public internet.',
  port: 'The port is none that the hub connects to.',
  credentials_in_url: 'The URL carries a user name, a password or a key.',
  method: 'The method is none of GET, HEAD, POST, PUT, PATCH and DELETE.',
  no_offer: 'It makes no x402 offer.',
  malformed_offer: 'Its x402 offer cannot be read.',
  scheme: 'No offer is by the scheme exact.',
  network: 'No offer is on a network that the hub knows.',
  testnet: 'It is sold for test money.',
  asset: 'No offer is in a token that the hub knows at its own address.',
  pay_to: 'The address to be paid is not a valid one, or has a wrong checksum.',
  price: 'The price is not a positive whole number of atomic units up to 10,000 dollars.',
  resource: 'The offer is for a URL of another host.',
  not_active: 'Its owner has switched it off.',
  no_endpoints: 'It names no endpoint that is sold by x402.',
  agent_uri: 'The URI of the agent leads to no registration file.',
  too_large: 'What it says is too large.',
  // What a probe found.
  unverified: 'No probe has seen a valid offer yet.',
  robots: 'The robots.txt of its host asks the hub to stay away.',
  robots_unreadable: 'Its robots.txt answers an error (5xx): the hub stays away until it is read.',
  not_asked: 'It answers without asking for a payment.',
  wrong_method: 'It does not take the method.',
  not_found: 'It answers that there is nothing.',
  refuses: 'It refuses the request before it asks for a payment.',
  rate_limited: 'It asks for fewer requests.',
  server_error: 'It answers an error of its own.',
  redirect: 'It redirects; the hub follows no redirect.',
  timeout: 'It does not answer in time.',
  tls: 'It has no valid certificate.',
  unreachable: 'It cannot be reached.',
  destination: 'Its name does not resolve to public addresses alone.',
  // What others decided.
  opted_out: 'Its owner does not want it to be listed.',
  delisted: 'Every source has dropped it, and it is down.',
  unsteady: 'It is up, and failed now and then.',
} as const satisfies Readonly<Record<string, string>>

export type Reason = keyof typeof REASONS
