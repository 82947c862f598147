/* Votes and their counts come first, an even number. */
static uint32_t bemi_labels(const bemi_blob_t *blob)
{
    return ((uint32_t)blob->networks + (uint32_t)blob->classes + 1) / 2 * 2;
}

uint32_t bemi_blob_work(const bemi_blob_t *blob)
{
    return (uint32_t)sizeof(bemi_class_t) * bemi_labels(blob) + (uint32_t)sizeof(bemi_value_t) * (uint32_t)blob->values;
}

void bemi_blob_label(const bemi_blob_t *blob, int label, char *text, uint32_t size)
{
    const uint8_t *p = blob->names;
    if (label >= blob->classes)
        label = -1;
    for (; label > 0; label--)
        while (BEMI_READ8(*p++) != 0) {
        }
    for (; size > 1 && label == 0 && BEMI_READ8(*p) != 0; size--)
        *text++ = (char)BEMI_READ8(*p++);
    if (size > 0)
        *text = 0;
}
