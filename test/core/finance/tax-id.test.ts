import { expect } from 'chai'
import * as fc from 'fast-check'
import { isEuCountry, vatCountry } from '../../../core/finance/documents/party.ts'
import { normalizeTaxId } from '../../../core/finance/documents/tax-id.ts'

const VALID = (
  'ATU13585627 BE0428759497 BG175074752 CY10259033P CZ25123891 CZ7103192745 DE136695976 ' +
  'DK13585628 EE100594102 EL094259216 ESB58378431 ESX2482300W FI20774740 FR40303265045 ' +
  'HR33392005961 HU12892312 IE6433435F IE6433435OA IT00743110157 LT119511515 LT100001919017 ' +
  'LU15027442 LV40003521600 MT11679112 NL004495445B01 NL000099998B57 PL8567346215 PT501964843 ' +
  'RO18547290 SE556188840401 SI50223054 SK2022749619'
).split(' ')
const COUNTRIES = [...new Set(VALID.map((id) => id.slice(0, 2)))]

describe('a tax identifier', () => {
  it('is accepted for each EU country, and refused if a digit is wrong', async () => {
    expect(COUNTRIES.map(vatCountry).filter(isEuCountry)).to.have.length(27)
    for (const id of VALID) {
      expect(await normalizeTaxId(id)).to.equal(id)
      const wrong = `${id.slice(0, 4)}${(Number(id[4]) + 1) % 10}${id.slice(5)}`
      expect(await normalizeTaxId(wrong), wrong).to.equal(undefined)
    }
    for (const id of ['DE00', 'DE', 'NL', 'FR SIREN', 'ATÜ13585627', 'SE1'])
      expect(await normalizeTaxId(id), id).to.equal(undefined)
  })

  it('is stored in one spelling, and unchanged if it is of no EU country', async () => {
    expect(await normalizeTaxId('de 136.695-976')).to.equal('DE136695976')
    expect(await normalizeTaxId('GR 094259216')).to.equal('EL094259216')
    for (const id of ['12-3456789', 'CHE-107.787.577 MWST', 'XI980780684', 'x'])
      expect(await normalizeTaxId(id)).to.equal(id)
  })

  it('of any text is refused or normalized, never an internal error', async () => {
    const text = fc.oneof(fc.string({ maxLength: 58 }), fc.stringMatching(/^[0-9A-Z+*]{2,12}$/))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...COUNTRIES), text, async (country, rest) => {
        const id = await normalizeTaxId(country + rest)
        if (id !== undefined) expect(await normalizeTaxId(id)).to.equal(id)
      }),
      { numRuns: 2_000 },
    )
  })
})
