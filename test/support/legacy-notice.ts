/** Content of a fictional notice in TED XML (R2.0.9); omitted members have defaults. */
export interface LegacyFiction {
  /** `101-2021` */
  readonly number: string
  /** `2021-02-05` */
  readonly day?: string
  /** `F02` */
  readonly form: string
  /** Two-letter code of the buyer's country. */
  readonly country?: string
  /** Content of the form. */
  readonly body: string
  /** Number of the corrected notice, as `2021/S 025-000001`. */
  readonly cpv?: string
  /** Elements of `NOTICE_DATA`, such as references. */
  readonly data?: string
  /** Elements of `CODIF_DATA`. */
  readonly coded?: string
}

/** Returns a small notice in TED XML with a fictional buyer. */
export function legacyNotice({
  number,
  day = '2021-02-05',
  form,
  country = 'AT',
  body,
  cpv = '31000000',
  data = '',
  coded = '',
}: LegacyFiction): string {
  const [ordinal = '', year = ''] = number.split('-')
  const name = form.startsWith('F') ? `${form}_2014` : `DEFENCE_${form}`
  return `<?xml version="1.0" encoding="UTF-8"?>
<TED_EXPORT xmlns="http://publications.europa.eu/resource/schema/ted/R2.0.9/publication"
 DOC_ID="${ordinal.padStart(6, '0')}-${year}" VERSION="R2.0.9.S03.E01"><CODED_DATA_SECTION>
<REF_OJS><COLL_OJ>S</COLL_OJ><NO_OJ>25</NO_OJ>
<DATE_PUB>${day.replaceAll('-', '')}</DATE_PUB></REF_OJS>
<NOTICE_DATA><ISO_COUNTRY VALUE="${country}"/><ORIGINAL_CPV CODE="${cpv}">x</ORIGINAL_CPV>${data}
</NOTICE_DATA><CODIF_DATA>${coded}</CODIF_DATA></CODED_DATA_SECTION>
<FORM_SECTION><${name} CATEGORY="ORIGINAL" FORM="${form}" LG="EN">
<LEGAL_BASIS VALUE="32014L0024"/><CONTRACTING_BODY><ADDRESS_CONTRACTING_BODY>
<OFFICIALNAME>Fictional Grid Office</OFFICIALNAME><COUNTRY VALUE="${country}"/>
</ADDRESS_CONTRACTING_BODY></CONTRACTING_BODY>${body}
</${name}></FORM_SECTION></TED_EXPORT>`
}

/** A change of F14: section, old and new value, and the lot it names. */
export const correction = (section: string, old: string, now: string, lot?: string): string =>
  `<CHANGE><WHERE><SECTION>${section}</SECTION>${
    lot === undefined ? '' : `<LOT_NO>${lot}</LOT_NO>`
  }<LABEL>x</LABEL></WHERE><OLD_VALUE>${old}</OLD_VALUE><NEW_VALUE>${now}</NEW_VALUE></CHANGE>`

/** A corrigendum of a notice, by its number in the journal. */
export const corrigendum = (changes: string, of = '2021/S 020-000001'): string =>
  `<OBJECT_CONTRACT><TITLE><P>Fictional works</P></TITLE></OBJECT_CONTRACT>
<COMPLEMENTARY_INFO><NOTICE_NUMBER_OJ>${of}</NOTICE_NUMBER_OJ></COMPLEMENTARY_INFO>
<CHANGES>${changes}</CHANGES>`
/** Object of a contract with lots by number. */
export const objectWithLots = (lots: readonly string[], more = ''): string =>
  `<OBJECT_CONTRACT><TITLE><P>Fictional works</P></TITLE>
<CPV_MAIN><CPV_CODE CODE="31000000"/></CPV_MAIN><TYPE_CONTRACT CTYPE="SUPPLIES"/>${more}${lots
    .map(
      (lot) =>
        `<OBJECT_DESCR><TITLE><P>Part ${lot}</P></TITLE><LOT_NO>${lot}</LOT_NO></OBJECT_DESCR>`,
    )
    .join('')}</OBJECT_CONTRACT>`
