import { expect } from 'chai'
import { ConfigError, readConfig } from '../../../core/config.ts'

describe('the configuration of a replica', () => {
  it('accepts a replica without a login, beside a primary', () => {
    const primary = { DATABASE_URL: 'postgres://hub@db/hub' }
    const url = 'postgres://replica:5433'
    expect(readConfig({ ...primary, DATABASE_REPLICA_URL: url }).replica).to.deep.equal({
      url,
      maxAgeMs: 10_000,
    })
    for (const login of ['postgres://hub@replica', 'postgres://replica?password=secret']) {
      expect(() => readConfig({ ...primary, DATABASE_REPLICA_URL: login })).to.throw(
        ConfigError,
        /must name no login/,
      )
    }
    expect(() => readConfig({ DATABASE_REPLICA_URL: url })).to.throw(ConfigError, /the primary/)
  })
})
