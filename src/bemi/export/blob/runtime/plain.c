    if (blob->kind == BEMI_BLOB_TABLE) {
        bemi_transform(state, x, z);
    } else {
        int32_t i;
        for (i = 0; i < blob->inputs; i++) {
            if (x[i] < blob->low || x[i] > blob->high)
                return BEMI_BLOB_OUT_OF_RANGE;
            z[i] = blob->kind == BEMI_BLOB_SCALED ? bemi_fixed_point(state, x[i], (uint_fast16_t)i) : x[i];
            if (blob->constant > 0 && z[i] > blob->constant)
                z[i] = blob->constant;
            if (blob->constant > 0 && z[i] < -blob->constant)
                z[i] = -blob->constant;
        }
        if (blob->constant > 0)
            z[i] = blob->constant;
    }
