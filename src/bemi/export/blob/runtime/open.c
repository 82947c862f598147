static uint32_t bemi_u16(const uint8_t *p)
{
    return (uint32_t)BEMI_READ8(p[0]) | (uint32_t)BEMI_READ8(p[1]) << 8;
}

static uint32_t bemi_u32(const uint8_t *p)
{
    return bemi_u16(p) | bemi_u16(p + 2) << 16;
}

/* Two's complement, without a conversion that C leaves open. */
static int32_t bemi_i32(const uint8_t *p)
{
    const uint32_t value = bemi_u32(p);
    return value >> 31 ? -(int32_t)(UINT32_MAX - value) - 1 : (int32_t)value;
}

/* CRC-32 as in zlib. */
static uint32_t bemi_checksum(const uint8_t *p, uint32_t length)
{
    uint32_t crc = UINT32_MAX;
    uint_fast8_t bit;
    for (; length > 0; length--, p++) {
        crc ^= BEMI_READ8(*p);
        for (bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320UL : 0);
    }
    return ~crc;
}

/* Whether a table never decreases from 0 to an end, in steps of a divisor. */
static int bemi_rises(const bemi_four_t *places, int32_t count, uint32_t end, uint32_t divisor)
{
    uint32_t last = 0;
    int32_t i;
    if (bemi_u32(places[0].bytes) != 0)
        return 0;
    for (i = 1; i <= count; i++) {
        const uint32_t place = bemi_u32(places[i].bytes);
        if (place < last || place > end || place % divisor)
            return 0;
        last = place;
    }
    return last == end;
}

/* Whether all entries of a table are below a limit, or equal to an exception. */
static int bemi_below(const bemi_two_t *entries, int32_t count, int32_t limit, int32_t exception)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        const int32_t entry = (int32_t)bemi_u16(entries[i].bytes);
        if (entry >= limit && entry != exception)
            return 0;
    }
    return 1;
}

/* Whether words of a neuron stay within the values, and no part of its sum exceeds 31 bits. */
static int bemi_neuron_is_safe(const bemi_blob_t *blob, int32_t neuron, uint32_t largest)
{
    const uint8_t *p = blob->weights + bemi_u32(blob->weights_at[neuron].bytes);
    const uint8_t *end = blob->weights + bemi_u32(blob->weights_at[neuron + 1].bytes);
    /* Counted from 1, so that 0 is before the first value. */
    uint32_t at = 0, total = 0;
    for (; p < end; p++) {
        uint_fast8_t half, codes = BEMI_READ8(*p);
        for (half = 0; half < 2; half++, codes = (uint_fast8_t)(codes >> 4)) {
            const int weight = (int8_t)BEMI_READ8(blob->word_weights[codes & 15]);
            at += BEMI_READ8(blob->word_steps[codes & 15]);
            total += (uint32_t)(weight < 0 ? -weight : weight);
            if (at == 0 || at > (uint32_t)blob->values || total > INT32_MAX / largest)
                return 0;
        }
    }
    return 1;
}

static int bemi_networks_are_safe(const bemi_blob_t *blob)
{
    int32_t n;
    for (n = 0; n < blob->networks; n++) {
        const uint32_t first = bemi_u32(blob->neurons_at[n].bytes), end = bemi_u32(blob->neurons_at[n + 1].bytes);
        const uint_fast8_t voting = BEMI_READ8(blob->voting[n]);
        const uint32_t place = bemi_u16(blob->tables_at[n].bytes);
        if (voting > 8 || voting > end - first || place + (1UL << voting) > (uint32_t)blob->entries)
            return 0;
    }
    for (n = 0; n < blob->classes; n++) {
        const uint32_t members = bemi_u16(blob->memberships[n].bytes);
        if (members == 0 || members > (uint32_t)blob->networks)
            return 0;
    }
    return 1;
}

/* Whether each network of all pairs of classes votes for one of its own; the answer of a vote leads to the next network. */
static int bemi_pairs_are_safe(const bemi_blob_t *blob)
{
    uint32_t a, b, n = 0, i;
    if ((uint32_t)blob->networks != (uint32_t)blob->classes * (uint32_t)(blob->classes - 1) / 2)
        return 0;
    for (a = 0; a < (uint32_t)blob->classes; a++)
        for (b = a + 1; b < (uint32_t)blob->classes; b++, n++) {
            const bemi_two_t *entry = blob->tables + bemi_u16(blob->tables_at[n].bytes);
            for (i = 0; i < 1UL << BEMI_READ8(blob->voting[n]); i++)
                if (bemi_u16(entry[i].bytes) != a && bemi_u16(entry[i].bytes) != b)
                    return 0;
        }
    return 1;
}

static int bemi_tests_are_safe(const bemi_blob_t *blob)
{
    int32_t i, conditions = 0;
    for (i = 0; i < blob->rules; i++)
        conditions += BEMI_READ8(blob->rule_lengths[i]);
    if (conditions != blob->conditions)
        return 0;
    for (i = 0; i < blob->scales; i++)
        if (BEMI_READ8(blob->shifts[i]) < 1 || BEMI_READ8(blob->shifts[i]) > 40)
            return 0;
    for (i = 0; i < blob->channels; i++)
        if (BEMI_READ8(blob->sample_shifts[i]) > 31)
            return 0;
    for (i = 0; i < blob->outputs; i++)
        if (BEMI_READ8(blob->factors[i]) > 128)
            return 0;
    return bemi_below(blob->value_columns, blob->tests_values, blob->inputs, -1)
        && bemi_below(blob->columns, blob->tests, blob->inputs, -1)
        && bemi_below(blob->condition_columns, blob->conditions, blob->inputs, -1);
}

/* Whether the sizes of a kind of inputs fit together; the largest value that the networks may get, 0 for none. */
static uint32_t bemi_largest(const bemi_blob_t *blob)
{
    const int32_t values = blob->tests_values + blob->tests + blob->rules + 1;
    int32_t largest = blob->high;
    if ((blob->kind == BEMI_BLOB_SHAPED) != (BEMI_BLOB_INPUTS_ID != 0) || blob->channels != BEMI_BLOB_SHAPE_CHANNELS
        || blob->outputs != BEMI_BLOB_SHAPE_OUTPUTS)
        return 0;
    if (blob->kind == BEMI_BLOB_SHAPED)
        return blob->inputs == BEMI_BLOB_SHAPE_INPUTS && blob->values == BEMI_BLOB_SHAPE_VALUES ? BEMI_BLOB_SHAPE_LARGEST : 0;
    if (blob->most_below < 0 || blob->most_above < 0 || blob->level < 0 || blob->constant < 0 || blob->low < -INT32_MAX)
        return 0;
    if (-blob->low > largest)
        largest = -blob->low;
    if (blob->kind != BEMI_BLOB_PLAIN)
        largest = blob->most_below > blob->most_above ? blob->most_below : blob->most_above;
    if (blob->kind == BEMI_BLOB_SCALED && blob->scales != blob->inputs)
        return 0;
    if (blob->kind == BEMI_BLOB_PLAIN || blob->kind == BEMI_BLOB_SCALED) {
        /* With a constant, inputs are clipped to it, and it comes last. */
        if (blob->values != blob->inputs + (blob->constant > 0))
            return 0;
        return (uint32_t)(blob->constant > 0 ? blob->constant : largest);
    }
    if (blob->kind != BEMI_BLOB_TABLE || blob->values != values || blob->scales != blob->tests_values)
        return 0;
    if (blob->level > largest)
        largest = blob->level;
    return (uint32_t)(blob->constant > largest ? blob->constant : largest);
}

int bemi_blob_open(bemi_blob_t *blob, const void *model, uint32_t length)
{
    const uint8_t *p = (const uint8_t *)model, *end;
    uint32_t largest, left, count;
    int32_t i;
    if (length < BEMI_BLOB_HEADER || length > INT32_MAX)
        return BEMI_BLOB_BAD_LENGTH;
    if (bemi_u32(p) != 0x494D4542UL)
        return BEMI_BLOB_BAD_MAGIC;
    if (bemi_u32(p + 4) != BEMI_BLOB_VERSION)
        return BEMI_BLOB_BAD_VERSION;
    if (bemi_u32(p + 8) != length)
        return BEMI_BLOB_BAD_LENGTH;
    if (bemi_u32(p + 12) != bemi_checksum(p + 16, length - 16))
        return BEMI_BLOB_BAD_CHECKSUM;
    if (bemi_u32(p + 16) != BEMI_BLOB_INPUTS_ID)
        return BEMI_BLOB_OTHER_INPUTS;
    p += 20;
$read_fields
    /* Counts of 16 bits, but for bytes of weights and of names. */
    if ($sizes)
        return BEMI_BLOB_BAD_CONTENT;
    left = length - BEMI_BLOB_HEADER;
$read_sections
    if (left != 0)
        return BEMI_BLOB_BAD_CONTENT;
    largest = bemi_largest(blob);
    if (largest == 0 || blob->subset_size < 1 || blob->subset_size > blob->classes || blob->networks < 1 || blob->classes < 1
        || !bemi_rises(blob->weights_at, blob->neurons, (uint32_t)blob->bytes, 2)
        || !bemi_rises(blob->neurons_at, blob->networks, (uint32_t)blob->neurons, 1)
        || !bemi_below(blob->tables, blob->entries, blob->classes, 65535)
        || !bemi_below(blob->subsets, blob->networks * blob->subset_size, blob->classes, -1)
        || !bemi_networks_are_safe(blob) || (blob->all_pairs && !bemi_pairs_are_safe(blob)) || !bemi_tests_are_safe(blob))
        return BEMI_BLOB_BAD_CONTENT;
    for (i = 0; i < blob->neurons; i++)
        if (!bemi_neuron_is_safe(blob, i, largest))
            return BEMI_BLOB_BAD_CONTENT;
    end = blob->names + blob->names_bytes;
    for (i = 0, p = blob->names; i < blob->classes; i++, p++) {
        while (p < end && BEMI_READ8(*p) != 0)
            p++;
        if (p == end)
            return BEMI_BLOB_BAD_CONTENT;
    }
    return p == end ? BEMI_BLOB_OK : BEMI_BLOB_BAD_CONTENT;
}
