import { expect } from 'chai'
import type { Client } from 'pg'
import { prepareServer } from '../../../core/db/server-version.ts'
import { ConfigError } from '../../../core/runtime/config-error.ts'

/** Client of a server of a version, and the statements that it was sent. */
function fakeClient(version: string, major: number) {
  const statements: string[] = []
  const query = async (text: string) => {
    statements.push(text)
    return { rows: [{ version, major }] }
  }
  return { client: { query } as unknown as Client, statements }
}

describe('the version of PostgreSQL', () => {
  it('is refused in plain words if it is older than 15, before anything is changed', async () => {
    const { client, statements } = fakeClient('14.18', 14)
    const error = await prepareServer(client).catch((cause: unknown) => cause)
    expect(error).to.be.instanceOf(ConfigError)
    expect((error as Error).message)
      .to.include('PostgreSQL 14.18')
      .and.include('15 or newer')
    expect(statements).to.have.length(1)
  })

  it('decides if the collation of the migrations is created', async () => {
    for (const [major, creates] of [
      [15, true],
      [16, true],
      [17, false],
      [18, false],
    ] as const) {
      const { client, statements } = fakeClient(`${major}.1`, major)
      await prepareServer(client)
      expect(statements.some((text) => text.includes('CREATE COLLATION'))).to.equal(creates)
    }
  })
})
