import type { KeyObject } from 'node:crypto'
import type { Environment } from './environment.ts'
import type { Fault } from './unsafe-hosts.ts'

const LENGTH_MIN = 16
const DISTINCT_MIN = 6

/** Faults of a token or password: too short, or too regular to be random. */
export const weakSecretFault = (secret: string): Fault =>
  secret.length < LENGTH_MIN || new Set(secret).size < DISTINCT_MIN
    ? `must be random and have at least ${LENGTH_MIN} characters`
    : undefined

/** Password of a URL, decoded; undefined without one. */
function passwordOf(url: string): string | undefined {
  const { password } = new URL(url)
  try {
    return decodeURIComponent(password) || undefined
  } catch {
    return password // invalid percent-encoding
  }
}

/** Seed of an Ed25519 key in hexadecimal, comparable with a wallet key. */
export const seedOf = (key: KeyObject): string =>
  Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url').toString('hex')

/** Secrets of the environment by variable, in a form that makes equal ones equal. */
const secretsOf = (e: Environment): readonly (readonly [keyof Environment, string])[] =>
  [
    ['SPEND_WALLET_KEY', e.SPEND_WALLET_KEY?.slice(2).toLowerCase()],
    ['GAS_WALLET_KEY', e.GAS_WALLET_KEY?.slice(2).toLowerCase()],
    ...(e.HUB_SIGNING_KEY ?? []).map((key) => ['HUB_SIGNING_KEY', seedOf(key)] as const),
    ...e.HUB_ENCRYPTION_KEYS.map(
      ({ secret }) => ['HUB_ENCRYPTION_KEYS', secret.toString('hex')] as const,
    ),
    ['HUB_METRICS_TOKEN', e.HUB_METRICS_TOKEN],
    ['HUB_BACKUP_PASSPHRASE', e.HUB_BACKUP_PASSPHRASE],
    ['X402_FACILITATOR_TOKEN', e.X402_FACILITATOR_TOKEN],
    ['HUB_EMBEDDINGS_KEY', e.HUB_EMBEDDINGS_KEY],
    ['DATABASE_URL', e.DATABASE_URL && passwordOf(e.DATABASE_URL)],
    ['REDIS_URL', e.REDIS_URL && passwordOf(e.REDIS_URL)],
    ['SMTP_URL', e.SMTP_URL && passwordOf(e.SMTP_URL)],
  ].flatMap(([name, secret]) => (secret ? [[name as keyof Environment, secret]] : []))

/** Faults of a secret that an earlier variable has too: a leak of one would be a leak of both. */
export function repeatedSecretFault(name: keyof Environment, e: Environment): Fault {
  const secrets = secretsOf(e)
  const first = secrets.findIndex(([each]) => each === name)
  const own = secrets.filter(([each]) => each === name).map(([, secret]) => secret)
  if (new Set(own).size < own.length) return 'has the same key twice'
  const twin = secrets.slice(0, first).find(([, secret]) => own.includes(secret))
  return twin && `is the same secret as ${twin[0]}`
}
