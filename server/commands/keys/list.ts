import { listVersions, type VersionInfo } from '../../../core/key-rotation/versions.ts'
import { PURPOSES } from '../../../core/secret-keys/purposes.ts'
import { type Command, toJson } from '../command.ts'

export const listCommand: Command = {
  usage: '[--json]',
  description: 'list the versions of all keys, with what still depends on each',
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const versions = await listVersions(await pool())
    await write(values['json'] === true ? toJson(versions.map(toRow)) : tableOf(versions))
    return 0
  },
}

const toRow = (info: VersionInfo) => ({
  purpose: info.purpose,
  version: info.version,
  key_id: info.keyId,
  state: info.state,
  created_at: info.createdAt,
  active_from: info.activeFrom,
  retired_at: info.retiredAt,
  encrypted_by: info.wrappedBy,
  dependents: info.dependents === undefined ? null : Number(info.dependents),
})

function tableOf(versions: readonly VersionInfo[]): string {
  if (versions.length === 0) return 'No key is stored yet. Start the hub once.\n'
  const byPurpose = Map.groupBy(versions, ({ purpose }) => purpose)
  return [...byPurpose].map(([purpose, all]) => sectionOf(purpose, all)).join('')
}

const sectionOf = (purpose: VersionInfo['purpose'], versions: readonly VersionInfo[]): string =>
  `${purpose}: ${PURPOSES[purpose]}\n${versions.map((each) => `  ${lineOf(each)}\n`).join('')}`

function lineOf({ version, state, activeFrom, retiredAt, wrappedBy, dependents }: VersionInfo) {
  const time = (retiredAt ?? activeFrom).toISOString()
  const since = retiredAt ? `retired ${time}` : `${state}, in use from ${time}`
  const uses = dependents === undefined ? '' : `, ${dependents} depend on it`
  return `version ${version}: ${since}${retiredAt ? '' : `, encrypted by ${wrappedBy}`}${uses}`
}
