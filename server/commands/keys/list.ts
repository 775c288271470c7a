import { listVersions, type VersionInfo } from '../../../core/key-rotation/versions.ts'
import { PURPOSES } from '../../../core/secret-keys/purposes.ts'
import { wrappingKeys } from '../../../core/secret-keys/secret-keys.ts'
import { type Command, toJson } from '../command.ts'
import type { KeysDeps } from './deps.ts'

export const listCommand = ({ signingKeys }: KeysDeps): Command => ({
  usage: '[--json]',
  description: `list the versions of all keys, with what still depends on each, and those that
HUB_SIGNING_KEY does not decrypt`,
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const versions = await listVersions(await pool(), wrappingKeys(await signingKeys()))
    await write(values['json'] === true ? toJson(versions.map(toRow)) : tableOf(versions))
    return 0
  },
})

const toRow = (info: VersionInfo) => ({
  purpose: info.purpose,
  version: info.version,
  key_id: info.keyId,
  state: info.state,
  created_at: info.createdAt,
  active_from: info.activeFrom,
  retired_at: info.retiredAt,
  encrypted_by: info.wrappedBy,
  decryptable: info.isReadable ?? null,
  dependents: info.dependents === undefined ? null : Number(info.dependents),
})

function tableOf(versions: readonly VersionInfo[]): string {
  if (versions.length === 0) return 'No key is stored yet. Start the hub once.\n'
  const byPurpose = Map.groupBy(versions, ({ purpose }) => purpose)
  const sections = [...byPurpose].map(([purpose, all]) => sectionOf(purpose, all))
  return [...sections, ...unreadableNotice(versions)].join('')
}

/** Says which keys are missing, without which the hub does not start. */
function unreadableNotice(versions: readonly VersionInfo[]): readonly string[] {
  const unreadable = versions.filter(({ isReadable }) => isReadable === false)
  if (unreadable.length === 0) return []
  const missing = [...new Set(unreadable.map(({ wrappedBy }) => wrappedBy))].join(', ')
  return [
    `HUB_SIGNING_KEY does not decrypt ${unreadable.length} of these versions, so the hub does ` +
      `not start. Add the key that encrypts them (${missing}), separated by a comma.\n`,
  ]
}

const sectionOf = (purpose: VersionInfo['purpose'], versions: readonly VersionInfo[]): string =>
  `${purpose}: ${PURPOSES[purpose]}\n${versions.map((each) => `  ${lineOf(each)}\n`).join('')}`

function lineOf({ version, state, activeFrom, retiredAt, wrappedBy, ...info }: VersionInfo) {
  const { dependents, isReadable } = info
  const time = (retiredAt ?? activeFrom).toISOString()
  const since = retiredAt ? `retired ${time}` : `${state}, in use from ${time}`
  const uses = dependents === undefined ? '' : `, ${dependents} depend on it`
  const lock = isReadable === false ? ', which HUB_SIGNING_KEY lacks' : ''
  const by = retiredAt ? '' : `, encrypted by ${wrappedBy}${lock}`
  return `version ${version}: ${since}${by}${uses}`
}
