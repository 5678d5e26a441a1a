/** The byte offsets of one row of a file: `from` is inclusive, `textTo` and `to` are exclusive. */
export interface RowPlace {
  from: number
  /** The end of the row without its line break. */
  textTo: number
  /** The start of the next row. */
  to: number
}

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d

/**
 * Finds the row ends of a CSV file as its bytes arrive, without storing them. A row ends with CRLF, LF or CR outside
 * quotes (RFC 4180). Blank rows are returned, too; they consist of their line break only.
 */
export function rowScanner() {
  let at = 0
  let from = 0
  let field: 'begins' | 'plain' | 'quoted' | 'quote_in_quotes' = 'begins'
  let afterReturn = false

  function endRow(textTo: number, to: number): RowPlace {
    const row = { from, textTo, to }
    from = to
    field = 'begins'
    return row
  }

  return {
    /** @param bytes the next bytes of the file. @returns the rows that end within them */
    scan(bytes: Uint8Array): RowPlace[] {
      const rows: RowPlace[] = []
      for (const byte of bytes) {
        if (afterReturn) {
          afterReturn = false
          const paired = byte === lineFeed
          rows.push(endRow(at - 1, paired ? at + 1 : at))
          if (paired) {
            at += 1
            continue
          }
        }
        if (field === 'quoted') {
          if (byte === quote) field = 'quote_in_quotes'
        } else if (byte === lineFeed) rows.push(endRow(at, at + 1))
        else if (byte === carriageReturn) afterReturn = true
        else field = fieldAfter(field, byte)
        at += 1
      }
      return rows
    },

    /** @returns the last row, unless `scan` has returned it */
    end(): RowPlace[] {
      if (afterReturn) return [endRow(at - 1, at)]
      return from < at ? [endRow(at, at)] : []
    },
  }
}

function fieldAfter(field: 'begins' | 'plain' | 'quote_in_quotes', byte: number) {
  if (byte === comma) return 'begins'
  if (byte === quote && field !== 'plain') return 'quoted'
  return 'plain'
}
