import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { useHub } from '../../support/suite.ts'
import { configOf, type User, usersOf } from './hub.ts'

interface Listed {
  readonly key_id: string
  readonly stored: boolean
  readonly in_use: boolean
  readonly accepted: boolean
  readonly balance_microdollars: number
}

const list = async (user: User): Promise<readonly Listed[]> =>
  (await user.json('keys', 'list'))['data'] as readonly Listed[]

describe('hub, with stored keys,', () => {
  const hub = useHub()
  const { user, customer } = usersOf(() => hub().url)

  it('refuses to register beside a stored key, and names it and its credits', async () => {
    const ada = await customer()
    const [own] = await list(ada)
    const { exit, err } = await ada.hub(['--json', 'register'])
    const { code, message, hint, details } = JSON.parse(err).error
    expect([exit, code]).to.deep.equal([1, 'key_exists'])
    expect(message).to.include(own!.key_id).and.include('$5.00')
    expect(hint).to.include('hub register --new')
    expect(details).to.include({ key_id: own!.key_id, balance_microdollars: 5_000_000 })
    expect(await ada.json('balance')).to.include({ balance_microdollars: 5_000_000 })
  })

  it('adds a key, changes between keys, moves credits and revokes', async () => {
    const ada = await customer()
    const [first] = await list(ada)
    const { key_id: second } = await ada.json('register', '--new')
    expect(await ada.json('balance')).to.include({ balance_microdollars: 0 })
    expect(await list(ada)).to.satisfy(
      (keys: readonly Listed[]) =>
        keys.length === 2 && keys.every(({ stored, accepted }) => stored && accepted),
    )
    await ada.json('keys', 'use', first!.key_id)
    expect(await ada.json('balance')).to.include({ balance_microdollars: 5_000_000 })
    const moved = await ada.json('--yes', 'keys', 'transfer', first!.key_id, String(second), '1.50')
    expect(moved).to.include({ balance_microdollars: 3_500_000, amount_microdollars: 1_500_000 })
    const prompt = await ada.hub(['keys', 'revoke', String(second)])
    expect(prompt.exit).to.equal(3)
    expect(prompt.err).to.include('Its $1.50 of credits moves to your oldest other main key')
    const revocation = await ada.json('--yes', 'keys', 'revoke', String(second))
    expect(revocation).to.include({ credits_to: first!.key_id, moved_microdollars: 1_500_000 })
    await eventually(async () => {
      const stored = (await list(ada)).find(({ key_id: id }) => id === second)
      return stored?.stored === true && !stored.in_use && !stored.accepted
    })
    expect((await ada.hub(['keys', 'use', 'key_none'])).exit).to.equal(2)
  })

  it('registers again after the key in use was revoked, and the old key stays stored', async () => {
    const ada = user()
    const { key_id: first } = await ada.json('register')
    await ada.json('--yes', 'keys', 'revoke', String(first))
    await eventually(async () => (await ada.hub(['balance'])).exit === 4)
    const { key_id: second } = await ada.json('register')
    const file = JSON.parse(readFileSync(configOf(ada, 'credentials.json'), 'utf8'))
    expect(file.hubs[hub().url].key_id).to.equal(second)
    expect(file.others[hub().url]).to.have.length(1).and.have.nested.property('0.key_id', first)
  })

  it('loses no key when several commands store one at a time', async () => {
    const ada = user()
    await ada.json('register')
    writeFileSync(configOf(ada, 'credentials.json.lock'), '999999999') // its process ended
    const made = await Promise.all([1, 2, 3].map(() => ada.json('register', '--new')))
    const stored = (await list(ada)).filter((key) => key.stored)
    expect(stored.map(({ key_id: id }) => id)).to.include.members(made.map((key) => key['key_id']))
    expect(stored.filter((key) => key.in_use)).to.have.length(1)
    expect(existsSync(configOf(ada, 'credentials.json.lock'))).to.equal(false)
  })

  it('backs up the file before every change, readable to the owner only', async () => {
    const ada = user()
    await ada.json('register')
    const before = readFileSync(configOf(ada, 'credentials.json'), 'utf8')
    await ada.json('register', '--new')
    const [backup] = readdirSync(configOf(ada, 'backups'))
    const path = configOf(ada, `backups/${backup!}`)
    expect(readFileSync(path, 'utf8')).to.equal(before)
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })

  it('says that HUB_API_KEY precedes the key that it stores', async () => {
    const ada = await customer()
    const { key_id: id } = await ada.json('register', '--new')
    const { hubs } = JSON.parse(readFileSync(configOf(ada, 'credentials.json'), 'utf8'))
    ada.env['HUB_API_KEY'] = hubs[hub().url].api_key
    expect((await ada.hub(['keys', 'use', String(id)])).err).to.include('HUB_API_KEY is set')
  })

  it('leaves a damaged file alone and names the backups', async () => {
    const ada = await customer()
    writeFileSync(configOf(ada, 'credentials.json'), '{"hubs":')
    const { exit, err } = await ada.hub(['register', '--new'])
    expect(exit).to.equal(1)
    expect(err).to.include('backups')
    expect(readFileSync(configOf(ada, 'credentials.json'), 'utf8')).to.equal('{"hubs":')
  })
})
