import { expect } from 'chai'
import { Inside } from '../../../core/hosting/inside.ts'
import { MESSAGE_MAX } from '../../../core/hosting/limits.ts'
import { eventually } from '../../support/eventually.ts'

const WORDY = new URL('./plugins/wordy.ts', import.meta.url)
const DECLARES_MUCH = new URL('./plugins/declares-much.ts', import.meta.url)

type Said = Readonly<Record<string, unknown>> & { readonly is: string }

describe('a plugin that says more than a message may have', () => {
  /** The plugin, and what it has said to the hub. */
  const open = async (entry: URL) => {
    const said: Said[] = []
    const inside = new Inside((text) => {
      expect(Buffer.byteLength(text)).to.be.at.most(MESSAGE_MAX)
      said.push(JSON.parse(text) as Said)
    })
    const tell = (message: object): void => inside.take(JSON.stringify(message))
    const folder = new URL('.', entry).pathname
    const about = { now: 0, sandbox: true, secrets: {}, lent: ['http'] }
    tell({ do: 'open', entry: entry.href, folder, ...about })
    await eventually(() => said.length > 0)
    const call = (id: number, path: string): void => {
      const input = { id: String(id), input: {}, payer: 'nobody', terms: null }
      tell({ do: 'handle', id, route: `POST /${path}`, call: input })
    }
    return { said, call }
  }

  it('is refused, if it declares so much', async () => {
    const { said } = await open(DECLARES_MUCH)
    expect(said[0]).to.include({ is: 'refused' })
  })

  it('has answered nothing, be it few characters of many bytes', async () => {
    const { said, call } = await open(WORDY)
    call(1, 'characters')
    await eventually(() => said.length > 1)
    expect(said[1]).to.include({ is: 'failed', id: 1 })
  })

  it('hears itself that a question was too long, and no other call does', async () => {
    const { said, call } = await open(WORDY)
    call(0, 'waits')
    call(1, 'asks') // its first question has the number of the first call
    await eventually(() => said.length > 1)
    expect(said.slice(1)).to.have.length(1)
    expect(said[1]).to.include({ is: 'failed', id: 1 })
    expect(JSON.stringify(said[1])).to.include('larger than a request may be')
  })

  it('has the beginning of a long line in the log', async () => {
    const { said, call } = await open(WORDY)
    call(1, 'logs')
    await eventually(() => said.length > 2)
    expect(said[1]).to.include({ is: 'log' })
    expect(String(said[1]!['message'])).to.match(/^x{100,}$/)
  })
})
