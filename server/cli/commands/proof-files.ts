import type { JsonWebKey } from 'node:crypto'
import {
  HubError,
  HubUnreachable,
  ProofError,
  type WitnessPolicy,
} from '../../../core/client/index.ts'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { readNamedFile } from '../files.ts'

/** Returns what a verification shows. @throws Failure with `code` if it fails */
export async function checked<T>(verify: () => T | Promise<T>, code: string): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    if (error instanceof HubError || error instanceof HubUnreachable) throw error
    const text = error instanceof ProofError ? error.message : 'This is not a proof or receipt.'
    throw new Failure('error', text, undefined, { code })
  }
}

/** Reads the keys from a file, or from the hub. */
export async function readKeys(context: Context, file?: string): Promise<readonly JsonWebKey[]> {
  const body =
    file === undefined
      ? (await context.client().send('/.well-known/jwks.json')).body
      : await readJson(file)
  const { keys } = body as unknown as { readonly keys?: readonly JsonWebKey[] }
  if (Array.isArray(keys)) return keys
  throw new Failure('usage', `${file ?? context.hub} has no keys (JWKS).`)
}

/** @throws Failure if the file cannot be read, or is not JSON */
export async function readJson(file: string): Promise<object> {
  const text = await readNamedFile(file)
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure('usage', `${file} is not valid JSON.`)
  }
}

/** Files and witnesses that the user trusts. */
export interface TrustFlags {
  readonly keys?: string
  readonly witness?: readonly string[]
  readonly quorum?: number
}

/** Returns the witnesses that must have cosigned; undefined if none are named. */
export function policyOf({ witness: witnesses, quorum }: TrustFlags): WitnessPolicy | undefined {
  if (witnesses) return { witnesses, quorum }
  if (quorum === undefined) return undefined
  throw new Failure('usage', 'Name the witnesses of the quorum: --witness KEY …')
}
