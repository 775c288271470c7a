import { randomUUID } from 'node:crypto'

/** One version of the key of a purpose. */
export interface KeyVersion {
  /** From 1. */
  readonly version: number
  /** Name that is unique over all purposes. */
  readonly id: string
  /** Secret bytes. */
  readonly material: Buffer
}

/** Versions of the key of one purpose. During a rotation, two are valid. */
export interface PurposeKeys {
  /** Version that signs, encrypts or derives what is new. */
  readonly current: KeyVersion
  /** All valid versions, the current one first. */
  readonly valid: readonly KeyVersion[]
  /** Returns a valid version. @throws Error if it was retired */
  find(version: number): Promise<KeyVersion>
}

/** Creates the keys of a purpose with a single version, which is never rotated. */
export function singleKey(material: Buffer): PurposeKeys {
  const current: KeyVersion = { version: 1, id: randomUUID(), material }
  return {
    current,
    valid: [current],
    find: async (version) => {
      if (version === 1) return current
      throw new Error(`key version ${version} does not exist`)
    },
  }
}
