    return -1;
