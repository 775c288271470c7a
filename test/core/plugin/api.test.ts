import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { API_VERSION } from '../../../core/hosting/locate.ts'
import { apiReport } from '../../support/api-report.ts'

const KEPT = new URL('./api.txt', import.meta.url)

/**
 * Version 1 is a promise to whoever sells. When this fails, something that plugins are written
 * against has changed: what is added has to be optional, and nothing that is there may go or mean
 * something else. `node test/support/api-report.ts` writes the report anew: look at its changes.
 */
describe('the plugin API, version 1', () => {
  it('is what it was when it was frozen', () => {
    expect(API_VERSION).to.equal(1)
    expect(apiReport()).to.equal(readFileSync(KEPT, 'utf8'))
  })
})
