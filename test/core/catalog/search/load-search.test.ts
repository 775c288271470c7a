import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { translateQuery } from '../../../../core/catalog/search/translate-query.ts'

const TEXTS = ['datos del tiempo en España', '天気予報', 'numeros de telefono', 'weather of Norway']

type TranslateQuery = typeof import('../../../../core/catalog/search/translate-query.ts')

describe('the vocabulary of searches', () => {
  it('is the same if it is loaded in steps, between which other work runs', async () => {
    // Another instance of the module has no vocabulary yet.
    const fresh = '../../../../core/catalog/search/translate-query.ts?fresh'
    const module = (await import(fresh)) as TranslateQuery
    let turns = 0
    const loading = new AbortController()
    const countTurns = async (): Promise<void> => {
      for (; !loading.signal.aborted; turns++) await setImmediate()
    }
    const counting = countTurns()
    await module.loadTranslations()
    loading.abort()
    await counting
    expect(turns).to.be.greaterThan(20)
    for (const text of TEXTS) {
      expect(module.translateQuery(text), text).to.deep.equal(translateQuery(text))
    }
    expect(module.translateQuery(TEXTS[0]!)[0]).to.include({ original: 'datos' })
  })
})
