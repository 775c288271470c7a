/** Reasons why something is not listed, refused or not up: a code for programs and a sentence. */
export const REASONS = {
  // A source's claim cannot become a listing.
  not_an_object: 'The row is not a JSON object.',
  not_http: 'The resource is not sold over HTTP.',
  no_url: 'The URL is missing.',
  malformed_url: 'The URL is not an absolute http or https URL, or is too long.',
  not_https: 'The URL is not https.',
  local_host: 'The host is not a public internet name.',
  port: 'The hub does not connect to this port.',
  credentials_in_url: 'The URL contains a user name, password or key.',
  method: 'The method is not GET, HEAD, POST, PUT, PATCH or DELETE.',
  no_offer: 'There is no x402 offer.',
  malformed_offer: 'The x402 offer is malformed.',
  scheme: 'No offer uses the scheme "exact", or "upto" by Permit2.',
  network: 'No offer is on a network known to the hub.',
  testnet: 'It is sold on a test network.',
  asset: 'No offer is in a known token at its official address.',
  pay_to: 'The recipient address is invalid or has a wrong checksum.',
  price: 'The price is not a positive integer of atomic units, at most 10,000 USD.',
  resource: 'The offer is for a URL of another host.',
  not_active: 'Its owner has deactivated it.',
  imitation:
    'Its name or description imitates this platform or asks for keys: change it at its source.',
  no_endpoints: 'It has no endpoint that is sold by x402.',
  agent_uri: 'The agent URI does not lead to a registration file.',
  too_large: 'The document or response is too large.',
  unreadable: 'The row contains something that the hub cannot process or store.',
  // What a probe found.
  unverified: 'No probe has seen a valid offer yet.',
  robots: 'The robots.txt of its host disallows the hub.',
  robots_unreadable:
    'Its robots.txt returns a server error (5xx); the hub retries it before any request.',
  not_asked: 'It responds without asking for a payment.',
  wrong_method: 'It does not accept the method.',
  not_found: 'It returns "not found".',
  refuses: 'It rejects the request before asking for a payment.',
  rate_limited: 'It limits the rate of requests.',
  server_error: 'It returns a server error.',
  redirect: 'It redirects; the hub follows no redirect.',
  timeout: 'It does not respond in time.',
  tls: 'It has no valid certificate.',
  unreachable: 'It cannot be reached.',
  destination: 'Its name resolves to an address that is not public.',
  // What others decided.
  opted_out: 'Its owner has opted out.',
  delisted: 'It is down and no source lists it any more.',
  unsteady: 'It is up but has failed repeatedly.',
} as const satisfies Readonly<Record<string, string>>

export type Reason = keyof typeof REASONS
