import type { CheerioAPI } from 'cheerio/slim'
import { type Element, isTag } from 'domhandler'
import type { ProductData, RecipeData } from './article.ts'
import { parse } from './dom.ts'
import type { Kind } from './kind.ts'
import { type Fields, isFields, listOf, textOf } from './linked-data.ts'
import { collapseSpaces } from './measure.ts'
import { textOf as shownIn } from './text.ts'

const TEXT_MAX = 10_000
const LIST_MAX = 200

/** Returns the first product or recipe, if a page is one, of linked data or else microdata. */
export function structuredDataOf(
  linked: readonly Fields[],
  $: CheerioAPI,
  type: Kind,
): ProductData | RecipeData | null {
  if (type !== 'product' && type !== 'recipe') return null
  const typeName = type === 'product' ? /(?:^|\/)Product(?:Group)?$/ : /(?:^|\/)Recipe$/
  const found =
    linked.find((each) => listOf(each['@type']).some((name) => typeName.test(String(name)))) ??
    microdataOf($, typeName)
  if (!found) return null
  return type === 'product' ? productOf(found) : recipeOf(found)
}

/** Returns the text of a property, without markup. */
function plain(value: unknown): string | null {
  const [first] = listOf(value)
  const text = typeof first === 'number' ? String(first) : textOf(first)
  const bare = collapseSpaces(text?.includes('<') ? shownIn(parse(text)) : (text ?? ''))
  return bare === '' ? null : bare.slice(0, TEXT_MAX)
}

function productOf(fields: Fields): ProductData {
  const [variant] = listOf(fields['hasVariant'])
  const offers = listOf(fields['offers'] ?? (isFields(variant) ? variant['offers'] : undefined))
  return {
    type: 'product',
    name: plain(fields['name']),
    description: plain(fields['description']),
    brand: plain(fields['brand']),
    sku: plain(fields['sku'] ?? fields['mpn']),
    gtin: plain(fields['gtin'] ?? fields['gtin13'] ?? fields['gtin12'] ?? fields['gtin8']),
    offers: offers.filter(isFields).slice(0, LIST_MAX).flatMap(offerOf),
  }
}

function offerOf(offer: Fields): ProductData['offers'] {
  const [specified] = listOf(offer['priceSpecification'])
  const prices = isFields(specified) ? { ...specified, ...offer } : offer
  const price = plain(prices['price'] ?? prices['lowPrice'])
  if (price === null) return []
  const availability = plain(offer['availability'])?.split('/').at(-1) ?? null
  return [{ price, currency: plain(prices['priceCurrency']), availability }]
}

const recipeOf = (fields: Fields): RecipeData => ({
  type: 'recipe',
  name: plain(fields['name']),
  yield: plain(fields['recipeYield']),
  prep_time: plain(fields['prepTime']),
  cook_time: plain(fields['cookTime']),
  total_time: plain(fields['totalTime']),
  ingredients: linesOf(fields['recipeIngredient'] ?? fields['ingredients']),
  steps: stepsIn(fields['recipeInstructions']).slice(0, LIST_MAX),
})

const linesOf = (value: unknown): string[] =>
  listOf(value)
    .slice(0, LIST_MAX)
    .map((each) => plain(each))
    .filter((line) => line !== null)

/** Returns the steps of text, of HowToStep, and of HowToSection, which holds steps. */
const stepsIn = (value: unknown): string[] =>
  listOf(value)
    .slice(0, LIST_MAX)
    .flatMap((each) => {
      if (!isFields(each)) return linesOf(each)
      const inner = each['itemListElement']
      if (inner !== undefined) {
        return listOf(inner).flatMap((step) =>
          linesOf(isFields(step) ? (step['text'] ?? step['name']) : step),
        )
      }
      return linesOf(each['text'] ?? each['name'])
    })

/** Reads the first matching item of microdata (HTML, section 5) into the form of linked data. */
function microdataOf($: CheerioAPI, typeName: RegExp): Fields | undefined {
  const scopes = $('[itemscope][itemtype]').toArray()
  const found = scopes.find(({ attribs }) => typeName.test(attribs['itemtype'] ?? ''))
  return found && itemOf(found, { values: 0 })
}

/** @param read number of values read so far, which is limited */
function itemOf(scope: Element, read: { values: number }): Fields {
  const fields: Record<string, unknown[]> = Object.create(null)
  const walk = (node: Element): void => {
    for (const child of node.children) {
      if (!isTag(child) || read.values >= LIST_MAX) continue
      const isItem = 'itemscope' in child.attribs
      const names = (child.attribs['itemprop'] ?? '').split(/\s+/).filter(Boolean)
      if (names.length > 0) {
        read.values++
        const value = isItem ? itemOf(child, read) : valueOf(child)
        for (const name of names) fields[name] = [...(fields[name] ?? []), value]
      }
      if (!isItem) walk(child)
    }
  }
  walk(scope)
  return fields
}

const valueOf = (element: Element): string => {
  const { attribs } = element
  return attribs['content'] ?? attribs['datetime'] ?? attribs['href'] ?? shownIn(element)
}
